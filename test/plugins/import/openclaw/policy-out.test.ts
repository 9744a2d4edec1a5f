/** The command policy that an export writes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ImportItem } from "@svc/kit/import";
import { policyOut } from "../../../../plugins/import/openclaw/policy-out.ts";

function out(allowlist: readonly object[], ...sources: readonly object[]) {
  const items: ImportItem[] = [];
  const file = { version: 1, defaults: { security: "allowlist" }, agents: { main: { ask: "off", allowlist } } };
  const written = policyOut(file, sources as Record<string, unknown>[], (item) => void items.push(item));
  return { written, left: items.map(({ id }) => id) };
}
const policy = (allowlist: readonly object[]) => ({
  version: 1,
  defaults: { security: "allowlist" },
  agents: { main: { ask: "off", allowlist } },
});

describe("policyOut", () => {
  it("keeps entries that a source has, also in its older form, and those with any arguments", () => {
    const entries = [
      { id: "1", pattern: "/usr/bin/rg" },
      { pattern: "~/bin/*", lastUsedAt: 5 },
      { pattern: "/opt/x", anyArguments: true },
    ];
    const sources = [{ agents: { main: { allowlist: [{ pattern: "/usr/bin/rg" }, "~/bin/*"] } } }, { agents: [] }, {}];
    const { written, left } = out(entries, ...sources);
    assert.deepEqual(written, policy([entries[0] ?? {}, entries[1] ?? {}, { pattern: "/opt/x" }]));
    assert.deepEqual(left, []);
  });

  for (const entry of [
    { pattern: "/usr/bin/git" },
    { pattern: "/usr/bin/rg", args: ["-l"] },
    { pattern: "/usr/bin/rg", cwd: "/srv" },
    { pattern: "/usr/bin/rg", anyArguments: true, sha256: "a".repeat(64) },
    { pattern: "/usr/bin/rg", anyArguments: true, later: 1 },
  ])
    it(`leaves out ${JSON.stringify(entry).slice(0, 70)}, which allows less here`, () => {
      const { written, left } = out([entry], {
        agents: {
          work: { allowlist: [{ pattern: "/usr/bin/git" }] },
          main: { allowlist: [{ pattern: "/usr/bin/rg" }] },
        },
      });
      assert.deepEqual([written, left], [policy([]), [`main ${entry.pattern}`]]);
    });
});
