"""Plans of counts in very many boxes as files. Touches all of ``plan_files`` but saving and loading."""
