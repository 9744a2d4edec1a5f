/** Waits for a condition. */
import assert from "node:assert/strict";

/** Polls until `holds`. @throws AssertionError it did not hold within a minute, which is generous on purpose */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what = "the condition",
  withinMs = 60_000,
): Promise<void> {
  for (const end = performance.now() + withinMs; !(await holds());) {
    assert.ok(performance.now() < end, `still waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
