/**
 * Imports the state of another product: builds the new state beside the former one, checks it, and switches to it. A dry run does the
 * same in a directory for temporary files, so that its report says what an import does.
 */
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isGatewayError, unavailable } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";
import type { GatewayClient } from "@svc/sdk/client";
import { refusal } from "@svc/sdk/errors";
import { type ImportOutcome, imports } from "@svc/sdk/import";
import { webhooks } from "@svc/sdk/webhooks";
import { withGatewayOn } from "./child.ts";
import { addedBy, CONVERTED, countsOf, IMPORTS, type ImportReport, REPORT } from "./report.ts";
import { stagedConfig } from "./settings.ts";
import { type ImportBatch, type ImportItem, type ImportSource, inBatches } from "./source.ts";
import { copyFiles, copyState, createStaging, removeTree, switchTo } from "./staging.ts";

export interface ImportOptions {
  /** Build the new state, report, and remove it. */
  readonly dryRun: boolean;
  /** Add to conversations and devices that are here. What is here wins. */
  readonly merge: boolean;
  /** Load the transforms of webhooks, and report their problems. Code of the source runs. Default false. */
  readonly tryCode?: boolean;
}

export type ImportContext = Pick<CommandContext, "stateDir" | "holder" | "json" | "note">;

/** Kinds whose records make a state directory one in use. */
const IN_USE: ReadonlySet<string> = new Set(["session", "device"]);
/** Choice: milliseconds between two lines about the progress. */
const TELL_MS = 1_000;

/**
 * @throws GatewayError `IMPORT_SOURCE_RUNS`, `IMPORT_STATE_IN_USE`, those of the source, and `UNAVAILABLE` when the new state is not
 *   complete. The former state stays as it was.
 */
export async function runImport(
  source: ImportSource,
  context: ImportContext,
  { dryRun, merge, tryCode = false }: ImportOptions,
): Promise<ImportReport> {
  const { stateDir } = context;
  const started = performance.now();
  const id = new Date().toISOString().replaceAll(":", "-");
  const running = await source.running();
  if (!dryRun) await refuseRunning(source, running, context);
  const staging = await createStaging(stateDir, id, dryRun);
  try {
    await copyState(stateDir, staging);
    const config = await stagedConfig(staging);
    const settings = await source.settings(stateDir, config.check);
    const written = await config.write(settings.config);
    const copied = await copyFiles(await source.files(), staging);
    const items = createItems();
    for (const item of [...copied, ...settings.items.map((one) => ({ ...one, kind: "setting" }))]) items.add(item);
    async function* batches(): AsyncGenerator<ImportBatch> {
      yield* inBatches("secret", settings.secrets);
      yield* source.records(settings, items.add);
    }
    const titles = await withGatewayOn(
      staging,
      written.config,
      async (client) => {
        const before = await kindsOf(client);
        if (!merge) refuseInUse(before, stateDir);
        const kinds = new Set(before.map(({ kind }) => kind));
        const added = await take(client, kinds, batches(), items.add, context);
        await verify(client, before, added);
        if (tryCode) for (const item of await problemsOfCode(client)) items.add(item);
        return new Map(before.map(({ kind, title }) => [kind, title]));
      },
      tryCode,
    );
    const { name, directory, format, halfMoved, stop, start } = source;
    const report: ImportReport = {
      id,
      dryRun,
      source: { name, directory, format, halfMoved, stop, start, running: running !== undefined },
      stateDir,
      counts: countsOf(items.list, titles),
      items: items.list,
      weaker: settings.weaker,
      stricter: settings.stricter,
      warnings: [...settings.warnings, ...written.stayed.map((key) => `${key}: the value that is here stays`)],
      tookMs: Math.round(performance.now() - started),
    };
    if (dryRun) return report;
    await keep(join(staging, IMPORTS, id), {
      [REPORT]: report,
      "kept.json": settings.kept,
      [CONVERTED]: settings.config,
      "svc.json.before": config.former,
      ...(await source.original()),
    });
    const formerState = await switchTo(staging, stateDir, id);
    return { ...report, ...(formerState === undefined ? {} : { formerState }) };
  } finally {
    await removeTree(staging); // after the switch it has another name
  }
}

async function refuseRunning(
  { directory, stop }: ImportSource,
  running: Awaited<ReturnType<ImportSource["running"]>>,
  context: ImportContext,
): Promise<void> {
  if (running) {
    const who = running.pid === undefined ? "" : `, process ${running.pid}`;
    throw refusal(
      "IMPORT_SOURCE_RUNS",
      `the gateway of ${directory} runs${who}: what it writes during the import would be missing\nNext: ${stop}`,
      { pid: running.pid },
    );
  }
  await refuseOwnGateway(context, "import");
  const path = process.env["SVC_CONFIG_PATH"]?.trim();
  if (path) {
    throw refusal(
      "IMPORT_STATE_IN_USE",
      `gateways here use the configuration ${path}, and an import writes svc.json in the state directory\nNext: unset SVC_CONFIG_PATH, import, then move svc.json there`,
    );
  }
}

/** @throws GatewayError `IMPORT_SOURCE_RUNS`, `IMPORT_STATE_IN_USE` */
export async function refuseOwnGateway(
  { stateDir, holder }: Pick<ImportContext, "stateDir" | "holder">,
  work: "import" | "export",
): Promise<void> {
  if (process.env["SVC_DATABASE_URL"]?.trim()) throw refusal("IMPORT_STATE_IN_USE", IN_POSTGRESQL[work]);
  const own = await holder();
  if (own) {
    const who = own.pid === undefined ? "" : `: process ${own.pid}`;
    throw refusal("IMPORT_SOURCE_RUNS", `a gateway uses ${stateDir}${who}\nNext: svc gateway stop`, { pid: own.pid });
  }
}

const IN_POSTGRESQL = {
  import:
    "the state is in PostgreSQL, and an import goes into a state directory\nNext: unset SVC_DATABASE_URL, import, then: svc storage copy --to <address>",
  export:
    "the state is in PostgreSQL, and an export reads a state directory\nNext: svc storage copy --from <address>, unset SVC_DATABASE_URL, then export",
};

/** The kinds of records of a gateway. */
export type Kinds = Awaited<ReturnType<typeof kindsOf>>;

export async function kindsOf(client: GatewayClient) {
  return (await client.call(imports.kinds, {}, { timeoutMs: 0 })).kinds;
}

function refuseInUse(kinds: Kinds, stateDir: string): void {
  const used = kinds.filter(({ kind, count }) => IN_USE.has(kind) && count > 0);
  if (used.length === 0) return;
  const what = used.map(({ title, count }) => `${title} ${count}`).join(", ");
  throw refusal(
    "IMPORT_STATE_IN_USE",
    `${stateDir} is in use: ${what}\nNext: repeat the command with --merge, which keeps what is here, or set SVC_STATE_DIR to a new directory`,
  );
}

/** Streams the batches to the gateway. @returns the number of added units */
async function take(
  client: GatewayClient,
  kinds: ReadonlySet<string>,
  batches: AsyncIterable<ImportBatch>,
  add: (item: ImportItem) => void,
  { json, note }: ImportContext,
): Promise<number> {
  let told = performance.now();
  let total = 0;
  let records = 0;
  for await (const { kind, records: batch } of batches) {
    const outcomes: readonly ImportOutcome[] = kinds.has(kind)
      ? (await client.call(imports.take, { kind, records: [...batch] }, { timeoutMs: 0 })).outcomes
      : batch.map(({ id }) => ({ id, action: "drop", reason: "no plugin in use takes it" }));
    for (const outcome of outcomes) {
      total += outcome.added ?? addedBy(outcome.action);
      add({ ...outcome, kind });
    }
    records += batch.length;
    if (json || performance.now() - told < TELL_MS) continue;
    told = performance.now();
    note(`${records} records taken`);
  }
  return total;
}

/** Items in order. The parts of one record are one item, and what the reader said about it stays. */
function createItems() {
  const list: ImportItem[] = [];
  const positions = new Map<string, number>();
  const add = (item: ImportItem): void => {
    const name = `${item.kind} ${item.id}`;
    const at = positions.get(name);
    const known = at === undefined ? undefined : list[at];
    const isSame = known?.action === item.action || (known?.action === "convert" && item.action === "take");
    if (at === undefined || !known || !isSame) {
      positions.set(name, list.push(item) - 1);
      return;
    }
    list[at] = { ...item, ...known, added: addedTo(known) + addedTo(item) };
  };
  return { list, add };
}

function addedTo({ added, action }: ImportItem): number {
  return added ?? addedBy(action);
}

/** @throws GatewayError `UNAVAILABLE` when the gateway has not stored what it said */
async function verify(client: GatewayClient, before: Kinds, added: number): Promise<void> {
  const sum = (kinds: Kinds) => kinds.reduce((total, { count }) => total + count, 0);
  const found = sum(await kindsOf(client)) - sum(before);
  if (found !== added)
    unavailable(`${added} records were taken, and ${found} are stored; nothing was changed\nNext: svc doctor`);
}

/** One item for each problem of the webhooks, or for the reason why they were not checked. */
async function problemsOfCode(client: GatewayClient): Promise<ImportItem[]> {
  const next = "svc hooks check";
  try {
    const { problems } = await client.call(webhooks.check, {}, { timeoutMs: 0 });
    return problems.map(({ path, message }) => ({
      kind: "transform",
      id: path,
      action: "keep",
      reason: message,
      next,
    }));
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return [{ kind: "transform", id: "hooks", action: "keep", reason: `not checked: ${error.message}`, next }];
  }
}

/** Writes the report directory, mode 0700, its files 0600. */
async function keep(directory: string, files: Readonly<Record<string, unknown>>): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  for (const [name, content] of Object.entries(files)) {
    if (content === undefined) continue;
    const text = typeof content === "string" ? content : `${JSON.stringify(content, undefined, 2)}\n`;
    await writeFile(join(directory, name), text, { mode: 0o600 });
  }
  await chmod(directory, 0o700);
}
