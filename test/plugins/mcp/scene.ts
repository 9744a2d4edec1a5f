/** Servers of the plugin with a fake clock and a log that the test reads. */
import assert from "node:assert/strict";
import { homedir } from "node:os";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { createSandbox } from "@svc/kit/exec";
import { type Logger, withDefaults } from "@svc/sdk";
import type { Secrets } from "@svc/sdk/secrets";
import type { Tool, ToolResult } from "@svc/sdk/tools";
import { createFakeClock } from "../../../sdk/testing/fake-clock.ts";
import { McpConfig } from "../../../plugins/mcp/config.ts";
import { confineWith } from "../../../plugins/mcp/sandbox.ts";
import { type ServersOptions, startServers } from "../../../plugins/mcp/servers.ts";
import { createOpenSession } from "../../../plugins/mcp/session.ts";
import { principal } from "../agents/script.ts";
import { temporaryDirectory } from "../agents/temporary.ts";

export const never = new AbortController().signal;

const PROGRAM = fileURLToPath(new URL("server-program.js", import.meta.url));

/** An entry of the configuration that starts the test server. */
export const program = (...modes: readonly string[]) => ({ command: process.execPath, args: [PROGRAM, ...modes] });

export interface Line {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A log that a test can wait for. */
export function createLog() {
  const lines: Line[] = [];
  const waiting = new Set<() => void>();
  const write = (level: keyof Logger) => (fields: object, message: string) => {
    lines.push({ level, message, fields: { ...fields } });
    for (const look of waiting) look();
  };
  const log: Logger = { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  /** The `count`th line that matches, now or later. */
  const line = (words: RegExp, count = 1) =>
    new Promise<Line>((resolve) => {
      const look = () => {
        const found = lines.filter(({ message }) => words.test(message))[count - 1];
        if (!found) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  return { log, lines, line };
}

export const CONNECTED = /is connected$/;
export const AWAY = /is disconnected; reconnecting/;

interface SceneOptions extends Partial<Pick<ServersOptions, "env" | "open">> {
  readonly secrets?: Secrets["reveal"];
}

/** @param servers as in the configuration */
export async function scene(t: TestContext, servers: Readonly<Record<string, object>>, options: SceneOptions = {}) {
  const { secrets, ...rest } = options;
  const clock = createFakeClock();
  const log = createLog();
  const directory = await temporaryDirectory(t);
  const started = startServers(withDefaults(McpConfig, { servers }), {
    clock,
    log: log.log,
    open: createOpenSession({ clock }),
    secrets: () => (secrets ? { reveal: secrets } : undefined),
    directory: () => directory,
    confine: confineWith({
      sandbox: createSandbox({ clock, log: log.log }),
      stateDir: () => `${directory}/state`,
      hidden: () => [],
      home: homedir(),
    }),
    random: () => 1,
    ...rest,
  });
  t.after(async () => {
    await moving(clock, started.stop());
  });
  const names = () => [...started.tools().keys()];
  const tool = (name: string): Tool =>
    started.tools().get(name) ?? assert.fail(`no ${name} among ${names().join(", ")}`);
  const use = async (name: string, args: Record<string, unknown> = {}, signal = never): Promise<ToolResult> =>
    (await tool(name).run(args, {
      call: { name, toolCallId: "c", arguments: args, runId: "r", sessionKey: "agent:main:main", agentId: "main" },
      principal,
      signal,
    })) as ToolResult; // never a string
  return { ...log, clock, directory, servers: started, names, tool, use };
}

/** Advances the clock until the promise is settled, for results that depend on both real programs and the clock. */
export async function moving<T>(clock: ReturnType<typeof createFakeClock>, promise: Promise<T>): Promise<T> {
  const state = { isOver: false };
  const over = () => void (state.isOver = true);
  promise.then(over, over);
  while (!state.isOver) await clock.advance(100);
  return promise;
}

/** The ids of the program and its child, which the program reports in the name of a tool. */
export function pidsIn(names: readonly string[]): number[] {
  const name = names.find((tool) => tool.includes("__pid-")) ?? assert.fail("no process told");
  return name.split("__pid-")[1]?.split("-").map(Number) ?? [];
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
