"""``dxgeom verify`` and the files of distances it reads, judges and mends."""
