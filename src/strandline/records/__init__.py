"""Record batches as bytes: read, edited in place, walked, built, compressed. No IO, no clock."""
