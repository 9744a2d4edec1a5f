/** Data of a view of the control panel: when it is loaded again. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createResource } from "../../../plugins/control-panel/ui/core/resource.ts";

/** A resource whose value is the number of its loads. @param load replaces a load. @param changed called after each change */
function counted(load?: (count: number) => Promise<number>, changed = (): void => {}) {
  let count = 0;
  const { signal } = new AbortController();
  const next = () => {
    count++;
    return load?.(count) ?? Promise.resolve(count);
  };
  return createResource(next, changed, signal);
}

describe("data of a view", () => {
  it("is loaded once more for all calls during a load", async () => {
    const resource = counted();
    await Promise.all([resource.reload(), resource.reload(), resource.reload()]);
    assert.deepEqual([resource.value, resource.isLoading], [2, false]);
  });

  it("is loaded again when somebody asks just as a load ends", async () => {
    let again: Promise<void> | undefined;
    const resource = counted(undefined, () => {
      if (!resource.isLoading) again ??= resource.reload();
    });
    await resource.reload();
    await again;
    assert.equal(resource.value, 2);
  });

  it("keeps its value after a failed load, and can be loaded again, also if the load throws at once", async () => {
    const resource = counted((count) => {
      if (count === 2) throw new Error("not connected");
      return Promise.resolve(count);
    });
    await resource.reload();
    await resource.reload();
    assert.deepEqual([resource.value, (resource.error as Error).message], [1, "not connected"]);
    await resource.reload();
    assert.deepEqual([resource.value, resource.error], [3, undefined]);
  });
});
