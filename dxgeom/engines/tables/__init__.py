"""What tables come as: delimited text, Parquet, frames of other libraries."""
