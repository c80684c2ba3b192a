"""What `gbmap.sql` is made of."""
