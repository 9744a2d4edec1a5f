/** The gateway that is set up: the running one, or one that this command starts. */
import { setTimeout as pause } from "node:timers/promises";
import { type OwnGateway, startGateway } from "@svc/kit/own-gateway";
import { isGatewayError, unavailable } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";
import type { GatewayClient } from "@svc/sdk/client";
import { detailsCode } from "@svc/sdk/errors";

const SCOPES = ["operator.admin"];
/** Choice: milliseconds until a started gateway must respond. */
const START_MS = 60_000;
const LOOK_EVERY_MS = 200;

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
  const own = startGateway(["gateway", "run"]);
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
