"""Lines end as on Windows, the last one not at all."""
import asyncio

# Says when.
async def main() -> None:
  """Wait."""
  for step in range(2):
    await asyncio.sleep(0)
    print(f"step {step}")

asyncio.run(main())