/** A node with the test's own programs, and a gateway that invokes its commands. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type FakeAnswer, type FakeGateway, fakeGateway } from "./fake-gateway.ts";
import { nodeState, startNode } from "./node.ts";

export const FULL = { version: 1, defaults: { security: "full", ask: "off" } };
export const ASK = { version: 1, defaults: { security: "allowlist", ask: "on-miss" } };
export const OFF = { version: 1, defaults: { security: "allowlist", ask: "off" } };

/** A policy that asks about all programs except these, which may have any arguments. */
export const listed = (...patterns: string[]) => ({
  ...ASK,
  agents: { main: { allowlist: patterns.map((pattern) => ({ pattern, anyArguments: true })) } },
});

/** @param policy of its policy file @param env that programs inherit, beside PATH */
export async function scene(t: TestContext, policy: object | undefined = FULL, env: Record<string, string> = {}) {
  const gateway = await fakeGateway(t);
  const stateDir = nodeState(t, policy);
  const bin = join(stateDir, "bin");
  mkdirSync(bin);
  const node = startNode(t, gateway.url, { stateDir, env: { PATH: `${bin}:${process.env["PATH"]}`, ...env } });
  await gateway.connected();
  const program = (name: string, text: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
    return realpathSync(join(bin, name));
  };
  const run = (params: object) => gateway.invoke("system.run", params);
  return { gateway, node, stateDir, bin, program, run, at: realpathSync(stateDir) };
}

/** Code and message of an answer, which must be a refusal. */
export function refusal({ ok, error }: FakeAnswer): string {
  assert.equal(ok, false);
  return `${error?.code} ${error?.message}`;
}

/** Reported events, in order. */
export const told = ({ events }: FakeGateway) => events.map(({ event }) => event);
