"""Pictures of props: studio and reference images."""
