/** Lines that commands of running plugins add to the text of a start. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Gateway } from "@svc/host";
import { readLocalKey } from "@svc/host/state";
import { messageOf } from "@svc/sdk/errors";
import { connectTo } from "./connect.ts";
import { type InstalledCommand, installedCommands, loadVerb } from "./plugin-verbs.ts";

/** Milliseconds that the text of the start waits for the lines of one command. */
const LIMIT_MS = 2_000;
/** Choice: most lines of one command. */
const MOST_LINES = 8;

/**
 * Asks the commands of active plugins at once. None of them can delay the text for long or prevent it.
 * @param failed is told why a command has no lines
 */
export async function announcedLines(gateway: Gateway, failed: (why: string) => void): Promise<readonly string[]> {
  const active = new Set(gateway.plugins().flatMap(({ id, state }) => (state === "active" ? [id] : [])));
  const commands = (await installedCommands()).filter(({ announces, plugin }) => announces && active.has(plugin));
  const lines = commands.map((command) =>
    inTime(linesOf(command, gateway)).catch((error: unknown) => {
      failed(`svc ${command.name} adds no lines: ${messageOf(error)}`);
      return [];
    }),
  );
  return (await Promise.all(lines)).flat();
}

/** @throws Error the work took longer than `LIMIT_MS` */
function inTime<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no answer within ${LIMIT_MS} ms`)), LIMIT_MS);
    work.then(resolve, reject).finally(() => clearTimeout(late));
  });
}

async function linesOf(command: InstalledCommand, gateway: Gateway): Promise<readonly string[]> {
  const verb = await loadVerb(command);
  const { url, tlsFingerprint, paths } = gateway;
  const localKey = readLocalKey(paths.credentialsDir);
  const target = {
    url,
    isExplicit: false,
    identityDir: join(paths.stateDir, "identity"),
    ...(localKey ? { localKey } : {}),
    ...(tlsFingerprint === undefined ? {} : { tlsFingerprint }),
  };
  const limits = { connectTimeoutMs: LIMIT_MS, callTimeoutMs: LIMIT_MS };
  const lines = await verb.announce?.({
    url: url.replace(/^ws/, "http"),
    config: runningConfig(paths.startupReport),
    isTerminal: process.stdout.isTTY,
    connect: (scopes) => connectTo(target, { ...limits, scopes }),
  });
  return lines?.slice(0, MOST_LINES) ?? [];
}

/** The configuration in use, secrets hidden, as the gateway wrote it at its start. */
function runningConfig(startupReport: string): Readonly<Record<string, unknown>> {
  const { config = {} } = JSON.parse(readFileSync(startupReport, "utf8")) as { config?: Record<string, unknown> };
  return config;
}
