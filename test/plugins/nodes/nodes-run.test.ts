/** `svc nodes run`: its arguments, its node, and Ctrl-C. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { NodeView } from "@svc/sdk/nodes";
import { findConnected } from "../../../plugins/nodes/cli-input.ts";
import { RUN_TIMEOUT_MS as OF_A_NODE } from "../../../plugins/nodes/node-host/params.ts";
import { unlessInterrupted } from "../../../plugins/nodes/remote-run/nodes-run.ts";
import { readRunRequest, RUN_TIMEOUT_MS } from "../../../plugins/nodes/remote-run/request.ts";

it("has the time limits of a node", () => assert.deepEqual(RUN_TIMEOUT_MS, OF_A_NODE));

describe("the node of svc nodes run", () => {
  const facts = { caps: [], commands: [], paired: true, connected: true };
  const node: NodeView = { nodeId: "abc", displayName: "Workshop", ...facts };

  it("must be connected", () => {
    assert.equal(findConnected([node], "workshop").nodeId, "abc");
    const message = /^node "Workshop" is not connected\nNext: start it on its machine: svc node run$/;
    assert.throws(() => findConnected([{ ...node, connected: false }], "abc"), { code: "UNAVAILABLE", message });
    assert.throws(() => findConnected([node], "garage"), { code: "NOT_FOUND" });
  });
});

describe("the arguments of svc nodes run", () => {
  it("name the node, the program with its arguments, and the options", () => {
    const options = { cwd: "/srv", env: ["A=1=2", "B="], timeout: "5000", agent: "ops", wait: false };
    assert.deepEqual(readRunRequest({ args: ["workshop", "ls", "-la", "--json"], options }), {
      node: "workshop",
      command: ["ls", "-la", "--json"],
      cwd: "/srv",
      env: { A: "1=2", B: "" },
      timeoutMs: 5_000,
      askTimeoutMs: 120_000,
      agentId: "ops",
      sessionKey: null,
      wait: false,
    });
  });

  const refusals: [why: string, options: object, message: RegExp][] = [
    ["a variable without a value", { env: ["SECRET"] }, /^--env takes a name and a value\nNext: /],
    ["a variable that steers programs", { env: ["LD_PRELOAD=/x"] }, /LD_PRELOAD may not be set/],
    ["more than an hour", { timeout: "3600001" }, /--timeout takes milliseconds/],
    ["no number", { timeout: "1m" }, /not "1m"\nNext: e.g. --timeout 60000/],
  ];
  it("are refused with invalid variables and timeouts", () => {
    for (const [why, options, message] of refusals) {
      const read = () => readRunRequest({ args: ["n", "ls"], options: { ...options } });
      assert.throws(read, { code: "INVALID_REQUEST", message }, why);
    }
  });
});

describe("Ctrl-C while svc nodes run waits for an approval", () => {
  it("cancels the question, and ends as interrupted; afterwards nothing listens for signals", async () => {
    let interrupt = () => {};
    let stopped = 0;
    const wait = () => ({
      signalled: new Promise<void>((resolve) => (interrupt = resolve)),
      stop: () => void stopped++,
    });
    const taken: string[] = [];
    const takeBack = () => {
      taken.push("denied");
      return Promise.reject(new Error("not an approver"));
    };
    assert.equal(await unlessInterrupted(Promise.resolve("allowed"), takeBack, wait), "allowed");
    const waiting = unlessInterrupted(new Promise(() => {}), takeBack, wait);
    interrupt();
    await assert.rejects(waiting, {
      code: "UNAVAILABLE",
      message: /^interrupted; the question was cancelled\nNext: /,
    });
    assert.deepEqual([taken, stopped], [["denied"], 2]);
  });
});
