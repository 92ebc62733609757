"""Topics and log files in Apache Spark, through PySpark's data source API and with no jars."""
