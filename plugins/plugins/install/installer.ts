/**
 * Installs, updates and removes plugins of other people. One change at a time; until the record is replaced nothing of it
 * counts, and a version that does not come up in a running gateway is taken back.
 *
 * lock, fetch, archive, manifest, dependencies, agree, trial, switch, load: each can fail, by this name.
 */
import { messageOf } from "@svc/sdk/errors";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import {
  addedItems,
  appendAudit,
  extensionsOf,
  type Installed,
  type InstalledPlugin,
  type Manifest,
  readRecord,
  summaryOf,
  verifyInstalled,
} from "@svc/host/local";
import { consentOf } from "./consent.ts";
import { declaredLines } from "./declared-lines.ts";
import { type CandidateOptions, makeCandidate, makeLink } from "./candidate.ts";
import { type InstallEffects, realEffects } from "./effects.ts";
import { InstallFailure, type InstallStep, step } from "./failure.ts";
import { removeLeftovers, STAGING } from "./generations.ts";
import { withInstallLock } from "./lock.ts";
import { keep, take } from "./waiting.ts";
import {
  follow,
  type SwitchContext,
  type Held,
  removeIfEmpty,
  replaceRecord,
  type RunningGateway,
  switchTo,
  type Switched,
} from "./switch.ts";

/** What somebody is asked. */
export interface AgreementRequest {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  /** In plain words: all of it, or after an earlier agreement what is new. */
  readonly summary: readonly string[];
  readonly isUpdate: boolean;
  /** Stands for an agreement to this. */
  readonly agree: string;
}

/** Answers for whoever installs. */
export type Agree = (request: AgreementRequest) => boolean | Promise<boolean>;

/** Who answers when it is asked. */
export interface Agreeing {
  readonly agree: Agree;
  /** Of an earlier refusal (`agree` in its details): what was fetched then is installed, and not fetched again. */
  readonly word?: string | undefined;
}

export interface InstallerOptions {
  readonly stateDir: string;
  readonly home: string;
  /** In which npm and git run. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Who does it, for the log of changes: a principal id, or `cli`. */
  readonly actor: string;
  /** What has this id, of the bundle or by the configuration. */
  holderOf(id: string): string | undefined;
  /** Absent: none runs. */
  readonly gateway?: RunningGateway | undefined;
  /** Hears of each step as it begins. */
  progress?(step: InstallStep, what: string): void;
  readonly effects?: Partial<InstallEffects>;
}

/** What became of one plugin. */
export interface Change extends Switched {
  readonly id: string;
  /** False: that very package is installed already. */
  readonly changed: boolean;
}

export interface Installer {
  /** @param spec as typed, paths absolute. @throws InstallFailure */
  install(spec: string, options: Agreeing & { readonly link?: boolean }): Promise<Change>;
  /** What it was installed from, as that is now. @throws InstallFailure */
  update(id: string, options: Agreeing): Promise<Change>;
  /** Out of the record, then its files. What it keeps for itself stays. @throws InstallFailure */
  remove(id: string): Promise<Change>;
  installed(): Installed | { readonly problem: string };
}

/** Where every change is logged, one line each; below the state directory. */
export function installAuditPath(stateDir: string): string {
  return join(stateDir, "logs", "plugins-audit.jsonl");
}

interface Order extends Agreeing {
  readonly spec: string;
  readonly link: boolean;
  /** Of the plugin that is updated. */
  readonly id?: string;
}

export function createInstaller(options: InstallerOptions): Installer {
  const effects = { ...realEffects, ...options.effects };
  const { files } = effects;
  const extensions = extensionsOf(options.stateDir);
  const progress = (name: InstallStep, what: string) => options.progress?.(name, what);
  const ground: SwitchContext = { extensions, effects, gateway: options.gateway, progress };

  /** Under the lock, with the record as it is then and without what others left behind. */
  async function change<T extends Change>(action: string, what: string, work: (held: Held) => Promise<T>): Promise<T> {
    progress("lock", "");
    const next = "make room, or set the owner of the state directory right, then try again";
    try {
      await step("lock", next, () => files.mkdir(extensions, { recursive: true, mode: 0o700 }));
      return await withInstallLock(extensions, async (lock) => {
        const installed = readRecord(extensions);
        if ("problem" in installed) throw new InstallFailure("lock", installed.problem, "svc plugins doctor");
        await step("lock", next, () => removeLeftovers(extensions, installed, files));
        const done = await work({ installed, lock });
        if (done.changed) await audit(action, what, done);
        return done;
      });
    } finally {
      removeIfEmpty(extensions); // an install that failed leaves no trace
    }
  }

  /** The change is done by then: a log that cannot be written does not undo it. */
  async function audit(action: string, what: string, { id, record }: Change): Promise<void> {
    const { name, version, source, generation, integrity, agreed } = record;
    const ts = new Date(effects.now()).toISOString();
    const facts = { id, name, version, source, generation, integrity, agreed };
    const line = { ts, event: `plugins.${action}`, actor: options.actor, what, pid: process.pid, ...facts };
    await appendAudit(installAuditPath(options.stateDir), line).catch((error: unknown) =>
      progress("load", `the log of changes could not be written: ${messageOf(error)}`),
    );
  }

  async function bring(order: Order, held: Held): Promise<Change> {
    const { spec, link, word } = order;
    const staging = join(extensions, `${STAGING}${randomBytes(6).toString("hex")}`);
    try {
      const waited = await step("fetch", "make room on the disk, then try again", async () => {
        const found = await take(word, spec, staging, options.stateDir, effects);
        if (!found) await files.mkdir(staging, { mode: 0o700 });
        return found;
      });
      const making = candidateOptions(order, held.installed);
      const made = await (link ? makeLink(spec, staging, making) : makeCandidate(spec, staging, making, waited));
      if ("there" in made) {
        const { id } = made.there;
        return { id, record: known(id, held.installed), changed: false, report: undefined };
      }
      return { id: made.manifest.id, changed: true, ...(await switchTo(made, held, ground)) };
    } catch (error) {
      const asked = error instanceof InstallFailure && !link ? error.details["agree"] : undefined;
      if (typeof asked === "string") await keep(asked, staging, options.stateDir, effects).catch(() => undefined); // it is fetched again then
      throw error;
    } finally {
      await files.rm(staging, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined); // the next one removes it
    }
  }

  function candidateOptions(order: Order, installed: Installed): CandidateOptions {
    return {
      home: options.home,
      env: options.env,
      effects,
      progress,
      admit: (name, manifest) => admit(name, manifest, installed, order.id),
      async isThere(name, { id }, integrity) {
        const record = installed.get(id);
        if (record?.name !== name || record.integrity !== integrity || record.spec !== order.spec) return false;
        return verifyInstalled(id, record, extensions).then(
          () => true,
          () => false, // its files changed: it is installed anew
        );
      },
      agree: (name, manifest, integrity, items) =>
        ask(order.agree, { name, manifest, integrity, items, before: installed.get(manifest.id) }),
    };
  }

  /** An id has one owner. The same package in another version replaces itself. */
  function admit(name: string, { id }: Manifest, installed: Installed, wanted: string | undefined): void {
    if (wanted !== undefined && wanted !== id)
      throw new InstallFailure(
        "manifest",
        `the package of ${wanted} says id "${id}" now`,
        `svc plugins remove ${wanted}, then install it anew`,
      );
    const holder = options.holderOf(id);
    if (holder !== undefined)
      throw new InstallFailure(
        "manifest",
        `the id "${id}" of ${name} is that of ${holder}, and only one can have it`,
        "ask whoever made the plugin for another id",
      );
    const other = installed.get(id);
    if (other && other.name !== name)
      throw new InstallFailure(
        "manifest",
        `the id "${id}" of ${name} is that of ${other.name} ${other.version}, which is installed, and only one can have it`,
        `svc plugins remove ${id}, then try again`,
      );
  }

  function known(id: string, installed: Installed): InstalledPlugin {
    const record = installed.get(id);
    if (record) return record;
    const code = { code: "NOT_INSTALLED" } as const;
    const holder = options.holderOf(id);
    if (holder === undefined)
      throw new InstallFailure("manifest", `no plugin "${id}" is installed`, "svc plugins list", code);
    const why = `${id} was not installed: it comes from ${holder}`;
    throw new InstallFailure("manifest", why, `svc plugins disable ${id}`, code);
  }

  async function ask(agree: Agree, { name, manifest, integrity, items, before }: Question): Promise<void> {
    const { id, version } = manifest;
    const asked = before ? addedItems(items, before.agreed) : items;
    if (before && asked.length === 0) return;
    progress("agree", id);
    const summary = [...summaryOf(asked), ...(before ? [] : await declaredLines(manifest))];
    const stands = consentOf(id, integrity, items);
    if (await agree({ id, name, version, summary, isUpdate: before !== undefined, agree: stands })) return;
    const who = `${name} ${version}`;
    const what = before ? `${who} asks for more than was agreed to` : `nobody agreed to ${who}, and it asks for this`;
    const lines = summary.map((line) => `  - it ${line}`).join("\n");
    const details = { code: "AGREEMENT_NEEDED", id, summary, agree: stands } as const;
    const next = `read it, then again with --agree ${stands} (just this, not fetched again), or with --yes`;
    throw new InstallFailure("agree", `${what}:\n${lines}`, next, details);
  }

  return {
    install: (spec, { link = false, ...agreeing }) =>
      change("install", spec, (held) => bring({ spec, link, ...agreeing }, held)),

    update: (id, agreeing) =>
      change("update", id, (held) => {
        const { spec, source } = known(id, held.installed);
        return bring({ spec, link: source === "link", ...agreeing, id }, held);
      }),

    remove: (id) =>
      change("remove", id, async ({ installed, lock }) => {
        const record = known(id, installed);
        progress("switch", id);
        const left = new Map([...installed].filter(([other]) => other !== id));
        await replaceRecord(left, lock, ground);
        progress("load", id);
        const report = await follow(id, ground);
        await removeLeftovers(extensions, left, files);
        return { id, record, report, changed: true };
      }),

    installed: () => readRecord(extensions),
  };
}

interface Question {
  readonly name: string;
  readonly manifest: Manifest;
  readonly integrity: string;
  readonly items: readonly string[];
  readonly before: InstalledPlugin | undefined;
}
