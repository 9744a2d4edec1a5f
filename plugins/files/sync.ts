/** Brings one workspace and what is stored of it together. Callers run one call at a time. */
import { randomUUID } from "node:crypto";
import type { Stats } from "node:fs";
import { mkdir, rmdir } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { readWithin, removeWithin, statWithin, writeWithin } from "@svc/kit/files";
import { type Clock, GatewayError, isGatewayError, type Logger } from "@svc/sdk";
import { type Base, type Known, readBase, writeBase } from "./base.ts";
import type { Change, Entry, FileFacts, Manifest } from "./manifest.ts";
import { appended, conflictName } from "./merge.ts";
import { type Objects, sha256 } from "./objects.ts";
import { isIgnored, scan, type ScanOptions } from "./scan.ts";

/** Choice: files that are read or written at the same time. */
const AT_ONCE = 4;
/** Choice: milliseconds between two times that a disk tells apart, at most. */
const COARSE_MS = 2_000;
/** Choice: files of one commit. */
const BATCH = 100;
/** Choice: attempts of a push while other gateways store changes of the same files. */
const ATTEMPTS = 5;
const LOST = "its bytes in the store are missing or damaged; a gateway that has the file stores them again";
/** Choice: a workspace that has lost as many files, and all of them, was not emptied on purpose. */
const MANY_FILES = 5;

export interface SyncSources extends ScanOptions {
  readonly manifest: Manifest;
  readonly objects: Objects;
  /** Records the origin of files before another machine gets them. */
  readonly keepOrigins: (workspace: string, paths: readonly string[]) => Promise<void>;
  /** Name of this gateway in the names of files. */
  readonly gateway: string;
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "warn" | "info">;
}

/** One workspace of this gateway. */
export interface Workspace {
  readonly agentId: string;
  /** As configured. */
  readonly workspace: string;
  /** Real path. */
  readonly root: string;
  /** File of the base. */
  readonly file: string;
}

export class WorkspaceSync {
  readonly #workspace: Workspace;
  readonly #sources: SyncSources;
  #base: Base | undefined;
  #isSaved = true;
  #skipped: ReadonlyMap<string, string> = new Map();
  #conflicts = 0;
  readonly #lost = new Set<string>();
  /** Why stored files were not written here, by path. */
  readonly #unwritten = new Map<string, string>();

  constructor(workspace: Workspace, sources: SyncSources) {
    this.#workspace = workspace;
    this.#sources = sources;
  }

  get report() {
    const files = [...(this.#base?.files.values() ?? [])];
    const lost = [...this.#lost].map((path) => [path, LOST] as const);
    const unshared = [...this.#skipped].filter(([path]) => !this.#unwritten.has(path));
    const reasons = [...lost, ...this.#unwritten, ...unshared];
    return {
      files: files.length,
      bytes: files.reduce((sum, { size }) => sum + size, 0),
      conflicts: this.#conflicts,
      skipped: reasons.slice(0, 20).map(([path, reason]) => ({ path, reason })),
    };
  }

  /** Files that the last pull could not get, because their bytes in the store are missing or damaged. */
  get lost(): readonly string[] {
    return [...this.#lost].slice(0, BATCH);
  }

  /** Stores the bytes of files again, where this gateway has them. @returns whether it did. @throws as `pull` */
  async restore(paths: readonly string[], signal: AbortSignal): Promise<boolean> {
    const base = await this.#open();
    const { root, agentId } = this.#workspace;
    const { manifest, objects, maxFileBytes: maxBytes } = this.#sources;
    const wanted = new Set(paths);
    let isRestored = false;
    await inGroups((await manifest.changes(agentId, 0)).entries, async ({ path, object, version, ...entry }) => {
      if (object === undefined || !wanted.has(path) || base.files.get(path)?.version !== version) return;
      const file = await readWithin(root, path, { maxBytes }).catch(() => undefined); // it cannot be this version
      if (!file || sha256(file.bytes) !== entry.sha256) return;
      await objects.put(object, file.bytes, signal);
      isRestored = true;
    });
    return isRestored;
  }

  /** @returns whether files of the workspace changed. @throws GatewayError `UNAVAILABLE`; Error of the file system */
  async pull(signal: AbortSignal): Promise<boolean> {
    const { agentId, root } = this.#workspace;
    const base = await this.#open();
    const { version, entries, isWhole } = await this.#sources.manifest.changes(agentId, base.version);
    const stored = new Set(entries.map(({ path }) => path));
    const gone = isWhole ? [...base.files].filter(([path]) => !stored.has(path)) : [];
    const deleted = gone.map(([path, { sha256, size, isExecutable }]) => ({
      path,
      version,
      sha256,
      size,
      isExecutable,
    }));
    if (entries.some(({ object }) => object !== undefined)) await mkdir(root, { recursive: true, mode: 0o700 });
    this.#lost.clear();
    let isComplete = true;
    let isChanged = false;
    try {
      await inGroups([...entries, ...deleted], async (entry) => {
        signal.throwIfAborted();
        if (base.files.get(entry.path)?.version === entry.version || isIgnored(entry.path, this.#sources)) return;
        const outcome = await this.#apply(base, entry, signal).then(
          (applied) => (this.#unwritten.delete(entry.path), applied),
          (error: unknown) => this.#refused(entry, error),
        );
        if (outcome === "later") isComplete = false;
        if (outcome === "changed") isChanged = true;
      });
      if (isComplete && base.version !== version) {
        base.version = version;
        this.#isSaved = false;
      }
    } finally {
      await this.#save(base);
    }
    return isChanged;
  }

  /** @returns whether something was stored. @throws GatewayError as `pull`; `CONFLICT`: others change the same files all the time */
  async push(signal: AbortSignal): Promise<boolean> {
    let isStored = false;
    for (let attempt = 1; ; attempt += 1) {
      await this.pull(signal);
      try {
        for (const batch of await this.#candidates()) isStored = (await this.#store(batch, signal)) || isStored;
        return isStored;
      } catch (error) {
        if (!isGatewayError(error) || error.code !== "CONFLICT" || attempt === ATTEMPTS) throw error;
      }
    }
  }

  async #open(): Promise<Base> {
    const { file, root } = this.#workspace;
    return (this.#base ??= await readBase(file, root));
  }

  async #save(base: Base): Promise<void> {
    if (this.#isSaved) return;
    await writeBase(this.#workspace.file, this.#workspace.root, base);
    this.#isSaved = true;
  }

  #know(base: Base, path: string, known: Known | undefined): void {
    this.#isSaved = false;
    if (known) base.files.set(path, known);
    else base.files.delete(path);
  }

  async #apply(base: Base, entry: Entry, signal: AbortSignal): Promise<"changed" | "same" | "later"> {
    const { path, object, version } = entry;
    const { root } = this.#workspace;
    const known = base.files.get(path);
    const local = await statWithin(root, path);
    const isUntouched =
      local && known ? isSame(known, local) || (await this.#has(path, local, known)) : !local && !known;
    if (object === undefined) {
      const isOurs = local && !isUntouched && !(await this.#has(path, local, entry));
      this.#know(base, path, undefined);
      if (!local || isOurs) return "same"; // a file that was changed here is stored again
      await removeWithin(root, path, local);
      await removeEmpty(root, posix.dirname(path));
      return "changed";
    }
    if (local && (isUntouched ? known?.sha256 === entry.sha256 : await this.#has(path, local, entry))) {
      const isSwitched = isExecutable(local) !== entry.isExecutable;
      if (!isSwitched) {
        this.#know(base, path, { ...factsOf(entry), version, ...placeOf(local) });
        return "same";
      }
    }
    const bytes = await this.#sources.objects.get(object, entry.size, signal);
    if (!bytes || sha256(bytes) !== entry.sha256) {
      this.#lost.add(path); // or another gateway has replaced it meanwhile
      return "later";
    }
    const kept = local && !isUntouched ? await this.#keep(path, bytes, known) : undefined;
    const content = kept?.merged ?? bytes;
    const stats = await this.#write(path, content, entry, kept?.expected ?? local);
    this.#know(base, path, { ...factsOf(entry), version, ...(kept?.merged ? { mtimeMs: 0, ino: 0 } : placeOf(stats)) });
    return "changed";
  }

  /** Both sides changed the file: keeps the content of this gateway in the same file, or under another name. */
  async #keep(path: string, stored: Buffer, known: Known | undefined) {
    const { agentId, root } = this.#workspace;
    const { gateway, clock, log, maxFileBytes: maxBytes } = this.#sources;
    const own = await readWithin(root, path, { maxBytes });
    if (!own) throw new GatewayError("CONFLICT", "the file was removed meanwhile");
    const merged = known && appended(own.bytes, stored, known);
    if (merged) return { merged, expected: own.stats };
    const copy = conflictName(path, gateway, clock.now());
    await writeWithin(root, copy, own.bytes, { expected: null, maxBytes });
    this.#conflicts += 1;
    log.warn(
      { agentId, file: path, path: copy },
      "two gateways changed a file; the content of this gateway is kept under another name",
    );
    return { expected: own.stats };
  }

  #write(path: string, bytes: Buffer, entry: FileFacts, local: Stats | undefined): Promise<Stats> {
    const { root } = this.#workspace;
    const plain = (local?.mode ?? 0o600) & 0o666;
    const mode = entry.isExecutable ? plain | ((plain & 0o444) >> 2) : plain;
    return writeWithin(root, path, bytes, { mode, expected: local ?? null, maxBytes: Infinity });
  }

  async #has(path: string, local: Stats, { size, sha256: digest }: FileFacts): Promise<boolean> {
    if (local.size !== size) return false;
    const file = await readWithin(this.#workspace.root, path, { maxBytes: size });
    return file !== undefined && sha256(file.bytes) === digest;
  }

  /** Skips a file that cannot be written here. Leaves a file that changed at the same moment to the next pull. */
  #refused({ path }: Entry, error: unknown): "same" | "later" {
    if (!isGatewayError(error) || (error.code !== "CONFLICT" && error.code !== "INVALID_REQUEST")) throw error;
    if (error.code === "CONFLICT") return "later";
    const { agentId } = this.#workspace;
    const { message: reason } = error;
    if (this.#unwritten.get(path) !== reason)
      this.#sources.log.warn({ agentId, file: path, reason }, "a shared file was not written");
    this.#unwritten.set(path, reason);
    return "same";
  }

  /** Files that changed here since the base, in batches. */
  async #candidates(): Promise<readonly (readonly Candidate[])[]> {
    const { root, agentId } = this.#workspace;
    const base = await this.#open();
    const found = await scan(root, this.#sources);
    this.#skipped = found?.skipped ?? new Map();
    const present = found?.files ?? new Map<string, Stats>();
    const isEmpty = base.files.size > 0 && ![...base.files.keys()].some((path) => present.has(path));
    if (isEmpty && (!found || base.files.size >= MANY_FILES)) {
      this.#sources.log.warn(
        { agentId, workspace: root },
        "the files of a shared workspace are missing; they are restored",
      );
      this.#base = { version: 0, files: new Map() };
      throw new GatewayError("CONFLICT", "the workspace is restored first");
    }
    const changed = [...present].flatMap(([path, stats]): Candidate[] => {
      const known = base.files.get(path);
      return known && isSame(known, stats) ? [] : [{ path, known }];
    });
    const absent = [...base.files].filter(([path]) => !present.has(path) && !isIgnored(path, this.#sources));
    const deleted: Candidate[] = [];
    for (const [path, known] of absent) if (await isGone(root, path)) deleted.push({ path, known, isDeleted: true });
    const all = [...changed, ...deleted];
    return Array.from({ length: Math.ceil(all.length / BATCH) }, (_, at) => all.slice(at * BATCH, (at + 1) * BATCH));
  }

  async #store(batch: readonly Candidate[], signal: AbortSignal): Promise<boolean> {
    const { agentId, workspace } = this.#workspace;
    const { manifest, keepOrigins } = this.#sources;
    const base = await this.#open();
    const stored: Stored[] = [];
    await inGroups(
      batch.filter(({ isDeleted }) => isDeleted !== true),
      async ({ path, known }) => {
        const one = await this.#upload(path, known, signal);
        if (one && "facts" in one) stored.push(one);
        else if (one && known) this.#know(base, path, { ...known, ...placeOf(one.stats) });
      },
    );
    const deleted = batch.filter(({ isDeleted }) => isDeleted === true);
    const changes: Change[] = [
      ...stored.map(({ path, known, facts, object }) => ({
        path,
        was: known?.version ?? 0,
        now: { ...facts, object },
      })),
      ...deleted.map(({ path, known }) => ({ path, was: known?.version ?? 0 })),
    ];
    if (changes.length > 0) {
      await keepOrigins(
        workspace,
        stored.map(({ path }) => path),
      );
      const version = await manifest.commit(agentId, changes);
      for (const { path, facts, stats } of stored) this.#know(base, path, { ...facts, version, ...placeOf(stats) });
      for (const { path } of deleted) this.#know(base, path, undefined);
      if (version === base.version + 1) base.version = version; // nobody else changed anything meanwhile
    }
    await this.#save(base);
    return changes.length > 0;
  }

  /** @returns the file as it was stored, or its new place if only that differs; `undefined`: it is gone, or cannot be read */
  async #upload(
    path: string,
    known: Known | undefined,
    signal: AbortSignal,
  ): Promise<Stored | { readonly stats: Stats } | undefined> {
    const { manifest, objects, maxFileBytes: maxBytes } = this.#sources;
    signal.throwIfAborted();
    const file = await readWithin(this.#workspace.root, path, { maxBytes }).catch((error: unknown) => {
      if (isGatewayError(error)) return undefined; // it became a link, or too large
      throw error;
    });
    if (!file) return undefined;
    const { bytes, stats } = file;
    const facts = { sha256: sha256(bytes), size: bytes.byteLength, isExecutable: isExecutable(stats) };
    if (facts.sha256 === known?.sha256 && facts.isExecutable === known.isExecutable) return { stats };
    const object = `${this.#workspace.agentId}/${randomUUID()}`;
    await manifest.reserve(object);
    await objects.put(object, bytes, signal);
    return { path, known, facts, object, stats };
  }
}

interface Candidate {
  readonly path: string;
  readonly known: Known | undefined;
  readonly isDeleted?: boolean;
}

interface Stored {
  readonly path: string;
  readonly known: Known | undefined;
  readonly facts: FileFacts;
  readonly object: string;
  readonly stats: Stats;
}

const isExecutable = ({ mode }: Stats) => (mode & 0o100) !== 0;

/** A file that was changed a moment ago may change again without a new time: 0, so that its content is compared the next time. */
function placeOf({ mtimeMs, ino }: Stats): Pick<Known, "mtimeMs" | "ino"> {
  return { mtimeMs: Date.now() - mtimeMs < COARSE_MS ? 0 : mtimeMs, ino };
}

const factsOf = ({ sha256, size, isExecutable }: FileFacts): FileFacts => ({ sha256, size, isExecutable });

function isSame(known: Known, stats: Stats): boolean {
  const { size, mtimeMs, ino } = known;
  return (
    size === stats.size && mtimeMs === stats.mtimeMs && ino === stats.ino && known.isExecutable === isExecutable(stats)
  );
}

/** Works on a few at a time. @throws the first error */
async function inGroups<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += AT_ONCE) await Promise.all(items.slice(at, at + AT_ONCE).map(work));
}

/** A link, or a file behind one, is not gone: it is only not shared. */
async function isGone(root: string, path: string): Promise<boolean> {
  return statWithin(root, path).then(
    (stats) => stats === undefined,
    () => false,
  );
}

async function removeEmpty(root: string, directory: string): Promise<void> {
  for (let at = directory; at !== "."; at = dirname(at)) {
    const isRemoved = await rmdir(join(root, at)).then(
      () => true,
      () => false,
    );
    if (!isRemoved) return;
  }
}
