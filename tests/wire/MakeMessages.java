import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.requests.RequestHeader;

/**
 * Prints the messages between a controller and its brokers as Apache Kafka 3.9 writes them: a line for each message and
 * version, with a value in each field the version has: name, version, bytes, JSON; and the request headers that go
 * before them. Its output is messages-3.9.txt; run it with the jars of kafka_2.13 3.9.x:
 * java -cp 'jars/*' MakeMessages.java
 */
public class MakeMessages {
    static int counter = 0;
    static int racks = 0;

    public static void main(String[] arguments) throws Exception {
        for (ApiKeys api : Arrays.asList(
                ApiKeys.LEADER_AND_ISR, ApiKeys.STOP_REPLICA, ApiKeys.UPDATE_METADATA, ApiKeys.CONTROLLED_SHUTDOWN)) {
            for (short version = api.oldestVersion(); version <= api.latestVersion(); version++) {
                header(api, version);
                for (String kind : new String[] {"Request", "Response"})
                    show(api.name + kind, version);
            }
        }
    }

    static void header(ApiKeys api, short version) {
        RequestHeader header = new RequestHeader(api, version, "controller", 7);
        ByteBuffer buffer = MessageUtil.toByteBuffer(header.data(), header.headerVersion());
        System.out.println(String.join("\t", api.name + "Header", "" + version, hex(buffer), "{}"));
    }

    static void show(String name, short version) throws Exception {
        Class<?> type = Class.forName("org.apache.kafka.common.message." + name + "Data");
        ApiMessage message = (ApiMessage) filled(type, version);
        Object json = Class.forName(type.getName() + "JsonConverter")
            .getMethod("write", type, short.class).invoke(null, message, version);
        ByteBuffer buffer = MessageUtil.toByteBuffer(message, version);
        // What was written can be read again, and is the same.
        ApiMessage again = (ApiMessage) type.getDeclaredConstructor().newInstance();
        again.read(new ByteBufferAccessor(buffer.duplicate()), version);
        if (!again.equals(message)) throw new IllegalStateException(name + " " + version);
        System.out.println(String.join("\t", name, "" + version, hex(buffer), json.toString()));
    }

    static String hex(ByteBuffer buffer) {
        buffer.rewind();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    /** An object with a value in every field that this version has. */
    static Object filled(Class<?> type, short version) throws Exception {
        Object made = type.getDeclaredConstructor().newInstance();
        Schema schema = ((Schema[]) type.getField("SCHEMAS").get(null))[version];
        for (Method method : sorted(type.getMethods())) {
            if (!method.getName().startsWith("set") || method.getParameterCount() != 1) continue;
            if (!isIn(schema, method.getName().substring(3))) continue;
            Object value = isNull(method) ? null : value(method.getGenericParameterTypes()[0], version);
            method.invoke(made, value);
        }
        return made;
    }

    /** The only field of all these messages that may be null, and every second time is. */
    static boolean isNull(Method method) {
        return method.getName().equals("setRack") && ++racks % 2 == 0;
    }

    static Method[] sorted(Method[] methods) {
        Arrays.sort(methods, (one, other) -> one.getName().compareTo(other.getName()));
        return methods;
    }

    static boolean isIn(Schema schema, String name) throws Exception {
        for (var field : schema.fields()) {
            if (isNamed(field.def, name)) return true;
            if (field.def.type instanceof TaggedFields section)
                for (Field tagged : tagged(section).values())
                    if (isNamed(tagged, name)) return true;
        }
        return false;
    }

    static boolean isNamed(Field field, String name) {
        return field.name.replace("_", "").equals(name.toLowerCase());
    }

    @SuppressWarnings("unchecked")
    static Map<Integer, Field> tagged(TaggedFields section) throws Exception {
        var fields = TaggedFields.class.getDeclaredField("fields");
        fields.setAccessible(true);
        return (Map<Integer, Field>) fields.get(section);
    }

    static Object value(Type type, short version) throws Exception {
        counter++;
        if (type == int.class) return 1_000_000 + counter;
        if (type == long.class) return 1L << 40 | counter;
        if (type == short.class) return (short) (counter % 100);
        if (type == byte.class) return (byte) (counter % 100);
        if (type == boolean.class) return true;
        if (type == String.class) return counter % 10 == 0 ? "x".repeat(130) : "größe-" + counter;
        if (type == Uuid.class) return new Uuid(0x0123456789abcdefL, counter);
        return list(type, version);
    }

    /** Two elements in a list, of which Kafka has kinds of its own. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    static Object list(Type type, short version) throws Exception {
        Type element;
        java.util.Collection made;
        if (type instanceof ParameterizedType parameterized) {
            element = parameterized.getActualTypeArguments()[0];
            made = new java.util.ArrayList<>();
        } else {
            element = ((ParameterizedType) ((Class<?>) type).getGenericSuperclass()).getActualTypeArguments()[0];
            made = (java.util.Collection) ((Class<?>) type).getDeclaredConstructor().newInstance();
        }
        for (int i = 0; i < 2; i++)
            made.add(element == Integer.class ? value(int.class, version) : filled((Class<?>) element, version));
        return made;
    }
}
