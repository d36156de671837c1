"""Examples of decoding under a mask, each a room of its own."""
