/** The gateway that takes the records: a process of its own on the staged state, reachable from this machine only. */
import { randomBytes } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isGatewayError, unavailable } from "@svc/sdk";
import { connect, type GatewayClient } from "@svc/sdk/client";
import { startGateway } from "../own-gateway.ts";

/** Choice: milliseconds until it must respond. */
const START_MS = 60_000;
const LOOK_EVERY_MS = 50;
const REPORT = "startup-report.json";
const CONFIG = "import-run.json";
/** Files that describe the last start; those of the user's own gateway stay. */
const OF_THE_START = ["last-good-config.json", "credentials/ended-credentials.json"];

type Values = Readonly<Record<string, unknown>>;

/** Only the settings by which records are checked: agents, time zone, names of sessions. Nothing runs by itself, and no network is used. */
function quiet({ agents = {}, session = {}, hooks }: Values, withHooks: boolean): Values {
  const { defaults = {}, list } = agents as { readonly defaults?: Values; readonly list?: readonly Values[] };
  const { mainKey, scope } = session as Values; // both sections were validated
  return {
    update: { checkOnStart: false },
    ...(withHooks && hooks !== undefined ? { hooks } : {}),
    session: { ...(mainKey === undefined ? {} : { mainKey }), ...(scope === undefined ? {} : { scope }) },
    agents: {
      defaults: { ...defaults, heartbeat: { every: "0m" } },
      ...(list ? { list: list.map(({ heartbeat: _own, ...agent }) => agent) } : {}),
    },
  };
}

/**
 * Runs `work` with a client of a gateway on the state directory, which has stopped afterwards.
 * @param settings the new configuration, validated
 * @param withHooks loads the transforms of webhooks, too
 * @throws GatewayError `UNAVAILABLE` with the output of the gateway if it does not start
 */
export async function withGatewayOn<T>(
  stateDir: string,
  settings: Values,
  work: (client: GatewayClient) => Promise<T>,
  withHooks = false,
): Promise<T> {
  const token = randomBytes(32).toString("base64url");
  const config = join(stateDir, CONFIG);
  const report = join(stateDir, REPORT);
  await rm(report, { force: true });
  const former = await Promise.all(OF_THE_START.map((name) => readFile(join(stateDir, name)).catch(() => undefined)));
  await writeFile(config, JSON.stringify(quiet(settings, withHooks)), { mode: 0o600 });
  const gateway = startGateway(["gateway", "run", "--port", "0"], {
    SVC_STATE_DIR: stateDir,
    SVC_CONFIG_PATH: config,
    SVC_GATEWAY_TOKEN: token,
    SVC_GATEWAY_PASSWORD: undefined,
    SVC_GATEWAY_PORT: undefined,
    SVC_DATABASE_URL: undefined,
    SVC_SKIP_CRON: "1",
  });
  try {
    const client = await connected(report, token, gateway);
    try {
      return await work(client);
    } finally {
      await client.close();
    }
  } finally {
    await gateway.stop();
    await Promise.all([config, report].map((file) => rm(file, { force: true })));
    for (const [at, name] of OF_THE_START.entries()) await restore(join(stateDir, name), former[at]);
  }
}

async function restore(path: string, content: Buffer | undefined): Promise<void> {
  if (content === undefined) await rm(path, { force: true });
  else await writeFile(path, content, { mode: 0o600 });
}

async function connected(
  report: string,
  token: string,
  gateway: ReturnType<typeof startGateway>,
): Promise<GatewayClient> {
  for (const end = performance.now() + START_MS; performance.now() < end; await pause(LOOK_EVERY_MS)) {
    if (gateway.hasEnded) break;
    const url = await urlIn(report);
    if (url === undefined) continue;
    try {
      return await connect({ url, token, scopes: ["operator.admin"] });
    } catch (error) {
      if (!isGatewayError(error) || error.code !== "UNAVAILABLE") throw error;
    }
  }
  return unavailable(`the gateway that takes the records did not start:\n${gateway.output.trim()}\nNext: svc doctor`);
}

/** `undefined`: the gateway is not up yet. */
async function urlIn(report: string): Promise<string | undefined> {
  try {
    const { url } = JSON.parse(await readFile(report, "utf8")) as { readonly url?: unknown };
    return typeof url === "string" ? url : undefined;
  } catch {
    return undefined; // absent, or half written
  }
}
