/** The gateway that is set up: the running one, or one that this command starts. */
import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { isGatewayError, unavailable } from "@svc/sdk";
import { type CommandContext, cut } from "@svc/sdk/cli";
import type { GatewayClient } from "@svc/sdk/client";
import { detailsCode } from "@svc/sdk/errors";

const SCOPES = ["operator.admin"];
/** Choice: milliseconds until a started gateway must respond. */
const START_MS = 60_000;
const LOOK_EVERY_MS = 200;
/** Choice: characters kept of what the gateway prints, for the error. */
const MAX_OUTPUT = 4_000;
/** Exit code of a gateway that its supervisor must start again. */
const RENEW = 75;

export interface OpenGateway {
  readonly client: GatewayClient;
  /** The gateway that this command started; `undefined`: it ran before. */
  readonly own: OwnGateway | undefined;
  /** Closes the connection, and stops the own gateway. */
  close(): Promise<void>;
}

/** @throws GatewayError the gateway refuses the connection, or does not start */
export async function openGateway(context: CommandContext, signal: AbortSignal): Promise<OpenGateway> {
  const running = await context.connect({ scopes: SCOPES }).catch((error: unknown) => {
    const isAbsent = isGatewayError(error) && detailsCode(error) === "UNREACHABLE";
    if (!isAbsent || typeof context.options["url"] === "string") throw error; // a gateway elsewhere cannot be started here
  });
  if (running) return { client: running, own: undefined, close: () => running.close() };
  context.note("No gateway is running; starting one.");
  const own = startGateway();
  try {
    const client = await connected(context, signal, own);
    return {
      client,
      own,
      async close() {
        await client.close();
        await own.stop();
      },
    };
  } catch (error) {
    await own.stop();
    throw error;
  }
}

/**
 * Waits until the gateway responds.
 * @param own the process that this command started
 * @throws GatewayError `own` has ended, or 60 s have passed
 */
export async function connected(
  context: CommandContext,
  signal: AbortSignal,
  own?: OwnGateway,
): Promise<GatewayClient> {
  for (const end = Date.now() + START_MS; ; await pause(LOOK_EVERY_MS, undefined, { signal })) {
    if (own?.hasEnded === true)
      unavailable(`the gateway did not start:\n${own.output.trim()}\nAfterwards: svc onboard`);
    const client = await responding(context);
    if (client) return client;
    if (Date.now() > end)
      unavailable(
        `the gateway did not respond within ${START_MS / 1_000} s\nNext: ${own ? "svc gateway run shows what it does" : "svc gateway probe"}`,
      );
  }
}

async function responding(context: CommandContext): Promise<GatewayClient | undefined> {
  return context.connect({ scopes: SCOPES }).catch((error: unknown) => {
    if (isGatewayError(error) && (detailsCode(error) === "UNREACHABLE" || error.code === "UNAVAILABLE"))
      return undefined;
    throw error;
  });
}

export interface OwnGateway {
  readonly hasEnded: boolean;
  /** Its last words. */
  readonly output: string;
  /** Resolves when the gateway has ended. */
  readonly ended: Promise<void>;
  /** Stops it and waits for its end. Safe to call twice. */
  stop(): Promise<void>;
}

/**
 * Runs `svc gateway run` in a process group of its own, so that Ctrl-C ends the setup first. Choice: as supervisor `svc`
 * this process has a channel to the gateway, which stops when the channel closes, even if this process is killed.
 */
function startGateway(): OwnGateway {
  let child: ChildProcess;
  let output = "";
  let isStopping = false;
  let hasEnded = false;
  let resolve = () => {};
  const ended = new Promise<void>((done) => (resolve = done));
  const hear = (chunk: Buffer) => void (output = (output + chunk.toString()).slice(-MAX_OUTPUT));
  const begin = () => {
    child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? "", "gateway", "run"], {
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      env: { ...process.env, SVC_SUPERVISOR: "svc" },
    });
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    const over = (code: number | null) => {
      if (code === RENEW && !isStopping) return begin();
      hasEnded = true;
      resolve();
    };
    child.once("error", ({ message }) => {
      output += message;
      if (child.pid === undefined) over(null);
    });
    child.once("exit", over);
  };
  begin();
  return {
    get hasEnded() {
      return hasEnded;
    },
    get output() {
      return cut(output, MAX_OUTPUT);
    },
    ended,
    async stop() {
      isStopping = true;
      if (child.connected) child.send("stop");
      else if (!hasEnded) child.kill();
      await ended;
    },
  };
}
