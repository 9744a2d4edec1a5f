/** State directories of OpenClaw 2026.3.2 and 2026.9.6, made by running it with a model that echoes. All credentials are throw-away. */
import { chmodSync, copyFileSync, cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { DatabaseSync } from "@photostructure/sqlite";
import { root } from "./checkout.ts";
import { directory } from "./directory.ts";

export interface OpenClawState {
  readonly home: string;
  /** `<home>/.openclaw` */
  readonly state: string;
}

/** Credentials in the fixtures; nothing that people see may have one. */
export const SECRETS = [
  "fake-key-1",
  "gw-throwaway-token-1",
  "hook-throwaway-token-1",
  "123456:throwaway-telegram-token",
  "throwaway-discord-token",
  "wYS6zL7oAGhRKSTiDSzShoU5aO8hvhzW0SuitSZr0AY",
  "UqeYmmNHynF1uBJ7oA15E1NYvK_7c6DL-VJEPvr3eCw",
  "wRUVc4QZ60c-TlU9-Ccnf7j-9p-7O-zY",
  "bxp74gkVe8hV0_aUuh9XGnFridZxFkZZ",
];

/** The database whose rows are only in its log, as after a kill. */
const NOT_CHECKPOINTED = "agents/main/agent/openclaw-agent.sqlite";

/** A home directory with a copy of a fixture, with the modes of the source. Databases are made from their texts. */
export function openClawHome(t: TestContext, fixture = "march/state"): OpenClawState {
  const home = directory(t);
  const state = join(home, ".openclaw");
  cpSync(join(root, "test/fixtures/openclaw", fixture), state, { recursive: true });
  for (const path of pathsIn(state)) {
    if (statSync(path).isDirectory()) chmodSync(path, 0o755);
    else {
      const text = filled(readFileSync(path, "utf8"), home);
      if (path.endsWith(".sql")) {
        rmSync(path);
        createDatabase(path.slice(0, -".sql".length), text, path.endsWith(`${NOT_CHECKPOINTED}.sql`));
        continue;
      }
      writeFileSync(path, text);
      chmodSync(path, path.includes(".json") ? 0o600 : 0o644);
    }
  }
  return { home, state };
}

/** Makes a database, mode 0600. @param isInLog its rows are in the file with the ending `-wal` */
export function createDatabase(path: string, sql: string, isInLog = false): void {
  const built = isInLog ? `${path}.building` : path;
  const database = new DatabaseSync(built);
  if (isInLog) database.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0");
  database.exec(`BEGIN; ${sql}; COMMIT`);
  if (isInLog) for (const suffix of ["", "-wal"]) copyFileSync(built + suffix, path + suffix);
  database.close(); // moves the log into the file
  if (isInLog) rmSync(built);
  for (const suffix of isInLog ? ["", "-wal"] : [""]) chmodSync(path + suffix, 0o600);
}

function filled(text: string, home: string): string {
  const values = { HOME: home, PATH: "/usr/bin", OPENCLAW: "/opt/openclaw", NODE: process.execPath, MACHINE: "box" };
  return Object.entries(values).reduce((filling, [name, value]) => filling.replaceAll(`@${name}@`, value), text);
}

/** All files and directories below, the directory first. */
export function pathsIn(path: string): string[] {
  return [
    path,
    ...(statSync(path).isDirectory() ? readdirSync(path).flatMap((name) => pathsIn(join(path, name))) : []),
  ];
}
