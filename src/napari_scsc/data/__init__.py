"""An image of any kind as samples."""
