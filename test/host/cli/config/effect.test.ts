import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ReloadKind } from "@svc/sdk/config";
import { describeEffect } from "../../../../host/cli/config/effect.ts";

describe("how a change takes effect", () => {
  const rows: [reload: ReloadKind | undefined, mode: unknown, says: RegExp][] = [
    ["hot", undefined, /takes it up at once\.$/],
    ["plugin", "hybrid", /at once, by reloading the plugin/],
    ["restart", undefined, /restarts within its process to take it up\.$/],
    ["hot", "hot", /takes it up at once\.$/],
    ["restart", "hot", /goes on without it: .* needs a restart\. Next: restart it/],
    ["hot", "restart", /restarts within its process/],
    ["hot", "off", /goes on without it: gateway\.reload\.mode is off\. Next: restart it/],
    [undefined, "off", /^Nothing to do/],
    ["hot", "no such mode", /at once\.$/],
  ];
  for (const [reload, mode, says] of rows)
    it(`${reload} under ${String(mode)}`, () => assert.match(describeEffect(reload, mode), says));
});
