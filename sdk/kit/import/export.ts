/** Gives the state to a writer of another product's format. The state itself is not touched: the writer reads a copy of it. */
import { mkdir, readdir, readFile, rename } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import JSON5 from "json5";
import { invalidRequest, messageOf, notFound } from "@svc/sdk";
import type { GatewayClient } from "@svc/sdk/client";
import { isAlive, isInside } from "@svc/sdk/files";
import { type ImportRecord, imports } from "@svc/sdk/import";
import { hasCode } from "../files/index.ts";
import { withGatewayOn } from "./child.ts";
import { type ImportContext, type Kinds, kindsOf, refuseOwnGateway } from "./run.ts";
import { copyState, createStaging, isThere, removeTree } from "./staging.ts";

/** The state that is exported. */
export interface ExportedState {
  readonly stateDir: string;
  /** The copy of `stateDir`, which is removed afterwards. */
  readonly copy: string;
  /** `svc.json`; `{}`: there is none. */
  readonly config: Readonly<Record<string, unknown>>;
  /** A gateway on the copy, with the scope `operator.admin`. */
  readonly client: GatewayClient;
  readonly kinds: Kinds;
  /** The records of a kind; none if no plugin in use gives them. */
  records<R extends ImportRecord>(kind: string): AsyncIterable<R>;
}

/**
 * Writes the state into the new directory `to`, mode 0700, which appears when it is complete.
 * @param write writes into the directory that it is given
 * @throws GatewayError `INVALID_REQUEST` if `to` exists or is inside `stateDir`, `NOT_FOUND` without a state, `IMPORT_SOURCE_RUNS`,
 *   `IMPORT_STATE_IN_USE`, and `UNAVAILABLE` if the gateway on the copy does not start
 */
export async function runExport<T>(
  to: string,
  context: ImportContext,
  write: (state: ExportedState, directory: string) => Promise<T>,
): Promise<T> {
  const { stateDir } = context;
  const target = resolve(to);
  if (await isThere(target)) invalidRequest(`${target} exists\nNext: name a directory that does not exist with --to`);
  if (isInside(stateDir, target))
    invalidRequest(`${target} is inside ${stateDir}\nNext: name another directory with --to`);
  if (!(await isThere(stateDir)))
    notFound(`${stateDir} does not exist\nNext: set SVC_STATE_DIR to the state directory`);
  await refuseOwnGateway(context, "export");
  const config = await readConfig(process.env["SVC_CONFIG_PATH"]?.trim() || join(stateDir, "svc.json"));
  await mkdir(dirname(target), { recursive: true });
  const prefix = `.${basename(target)}.export-`;
  for (const name of await readdir(dirname(target)))
    if (name.startsWith(prefix) && !isAlive(Number(name.slice(prefix.length))))
      await removeTree(join(dirname(target), name)); // it was killed
  const directory = join(dirname(target), prefix + process.pid);
  const copy = await createStaging(stateDir, "", true);
  try {
    await mkdir(directory, { mode: 0o700 });
    await copyState(stateDir, copy);
    const written = await withGatewayOn(copy, config, async (client) => {
      const kinds = await kindsOf(client);
      const given = new Set(kinds.flatMap(({ kind, gives }) => (gives ? [kind] : [])));
      const records = <R extends ImportRecord>(kind: string) => (given.has(kind) ? pages<R>(kind, client) : none<R>());
      return write({ stateDir, copy, config, client, kinds, records }, directory);
    });
    await rename(directory, target);
    return written;
  } finally {
    await Promise.all([copy, directory].map(removeTree));
  }
}

async function readConfig(path: string): Promise<ExportedState["config"]> {
  try {
    return JSON5.parse(await readFile(path, "utf8"));
  } catch (error) {
    if (hasCode(error, "ENOENT")) return {};
    return invalidRequest(`${path} cannot be read: ${messageOf(error)}\nNext: svc config validate`);
  }
}

async function* pages<R extends ImportRecord>(kind: string, client: GatewayClient): AsyncGenerator<R> {
  for (let after: string | undefined; ;) {
    const page = await client.call(imports.give, { kind, ...(after === undefined ? {} : { after }) }, { timeoutMs: 0 });
    yield* page.records as unknown as R[]; // the plugin gives what it takes
    if (page.next === undefined) return;
    after = page.next;
  }
}

async function* none<R>(): AsyncGenerator<R> {}
