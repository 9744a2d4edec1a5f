/** Several gateways restart one after the other. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Leaving } from "../../host/leaving.ts";

/** Gateways that know each other, by name. */
function gateways(...names: string[]) {
  const facts = new Map<string, unknown>();
  const present = new Set(names);
  let leftAt: number | undefined;
  const one = (self: string) =>
    new Leaving({
      self,
      get names() {
        return [...present].filter((name) => name !== self);
      },
      get leftAt() {
        return leftAt;
      },
      share: (_topic, _key, value) => void facts.set(self, value),
      shared: (_topic) =>
        [...facts]
          .filter(([name]) => name !== self && present.has(name))
          .map(([gateway, value]) => ({ gateway, key: "gateway", value })),
    });
  return {
    all: names.map(one),
    ends(name: string) {
      present.delete(name);
      facts.delete(name);
      leftAt = performance.now();
    },
    begins(name: string) {
      present.add(name);
      leftAt = undefined;
    },
  };
}

describe("restarts of several gateways", () => {
  it("do not wait for anybody on a gateway alone", () => {
    const { all } = gateways("a");
    assert.deepEqual([all[0]?.mayRestart(), all[0]?.restartDelayMs, all[0]?.others], [true, 0, 0]);
  });

  it("are one after the other, and wait for the one that has left to come back", () => {
    const { all, ends, begins } = gateways("a", "b", "c");
    const [a, b, c] = all as [Leaving, Leaving, Leaving];
    assert.deepEqual([a.mayRestart(), b.mayRestart(), c.mayRestart()], [true, false, false]);
    a.begin();
    assert.deepEqual([b.mayRestart(), c.mayRestart()], [false, false]);
    ends("a");
    assert.deepEqual([b.mayRestart(), c.mayRestart()], [false, false]);
    begins("a2");
    assert.deepEqual([c.mayRestart(), b.mayRestart()], [false, true]);
  });

  it("that one change of the configuration causes are apart from the beginning", () => {
    const { all } = gateways("b", "a", "c");
    assert.deepEqual(
      all.map(({ restartDelayMs }) => restartDelayMs),
      [6_000, 3_000, 9_000],
    );
  });
});
