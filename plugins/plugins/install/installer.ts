/**
 * Installs, updates and removes third-party plugins. One change at a time; nothing takes effect before the record is
 * replaced, and a version that does not start in a running gateway is rolled back.
 *
 * Steps: lock, fetch, archive, manifest, dependencies, agree, trial, switch, load. A failure names its step.
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

/** A request for agreement. */
export interface AgreementRequest {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  /** In plain language: all permissions, or after an earlier agreement only the new ones. */
  readonly summary: readonly string[];
  readonly isUpdate: boolean;
  /** The word that agrees to exactly these permissions of exactly this package. */
  readonly agree: string;
}

/** Answers a request for agreement. */
export type Agree = (request: AgreementRequest) => boolean | Promise<boolean>;

/** How agreement is given. */
export interface Agreeing {
  readonly agree: Agree;
  /**
   * Word of an earlier refusal (`agree` in the details of the refusal): the package that was fetched then is installed
   * without fetching again.
   */
  readonly word?: string | undefined;
}

export interface InstallerOptions {
  readonly stateDir: string;
  readonly home: string;
  /** Environment of npm and git. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Author for the audit log: a principal id, or `cli`. */
  readonly actor: string;
  /** Describes who uses this id: the bundle or the configuration. */
  holderOf(id: string): string | undefined;
  /** Absent: no gateway is running. */
  readonly gateway?: RunningGateway | undefined;
  /** Called at the start of each step. */
  progress?(step: InstallStep, what: string): void;
  readonly effects?: Partial<InstallEffects>;
}

/** Outcome of one change. */
export interface Change extends Switched {
  readonly id: string;
  /** False: the same package was already installed. */
  readonly changed: boolean;
}

export interface Installer {
  /** @param spec as typed, paths absolute @throws InstallFailure */
  install(spec: string, options: Agreeing & { readonly link?: boolean }): Promise<Change>;
  /** Installs the current version from the same source. @throws InstallFailure */
  update(id: string, options: Agreeing): Promise<Change>;
  /** Removes the plugin from the record, then its files. Its own data stays. @throws InstallFailure */
  remove(id: string): Promise<Change>;
  installed(): Installed | { readonly problem: string };
}

/** Path of the audit log of all changes, one line each; below the state directory. */
export function installAuditPath(stateDir: string): string {
  return join(stateDir, "logs", "plugins-audit.jsonl");
}

interface Order extends Agreeing {
  readonly spec: string;
  readonly link: boolean;
  /** Id of the plugin to update. */
  readonly id?: string;
}

export function createInstaller(options: InstallerOptions): Installer {
  const effects = { ...realEffects, ...options.effects };
  const { files } = effects;
  const extensions = extensionsOf(options.stateDir);
  const progress = (name: InstallStep, what: string) => options.progress?.(name, what);
  const ground: SwitchContext = { extensions, effects, gateway: options.gateway, progress };

  /** Runs a change under the lock, with the current record and after removing leftovers. */
  async function change<T extends Change>(action: string, what: string, work: (held: Held) => Promise<T>): Promise<T> {
    progress("lock", "");
    const next = "free some space, or correct the owner of the state directory, then try again";
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
      removeIfEmpty(extensions); // a failed install leaves no trace
    }
  }

  /** The change is already done; a log that cannot be written does not undo it. */
  async function audit(action: string, what: string, { id, record }: Change): Promise<void> {
    const { name, version, source, generation, integrity, agreed } = record;
    const ts = new Date(effects.now()).toISOString();
    const facts = { id, name, version, source, generation, integrity, agreed };
    const line = { ts, event: `plugins.${action}`, actor: options.actor, what, pid: process.pid, ...facts };
    await appendAudit(installAuditPath(options.stateDir), line).catch((error: unknown) =>
      progress("load", `the audit log could not be written: ${messageOf(error)}`),
    );
  }

  async function bring(order: Order, held: Held): Promise<Change> {
    const { spec, link, word } = order;
    const staging = join(extensions, `${STAGING}${randomBytes(6).toString("hex")}`);
    try {
      const waited = await step("fetch", "free some disk space, then try again", async () => {
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
      if (typeof asked === "string") await keep(asked, staging, options.stateDir, effects).catch(() => undefined); // the next install fetches again
      throw error;
    } finally {
      await files.rm(staging, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined); // the next install removes it
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
          () => false, // the files of the plugin changed: install it again
        );
      },
      agree: (name, manifest, integrity, items) =>
        ask(order.agree, { name, manifest, integrity, items, before: installed.get(manifest.id) }),
    };
  }

  /** Each id has one owner; another version of the same package may take over the id. */
  function admit(name: string, { id }: Manifest, installed: Installed, wanted: string | undefined): void {
    if (wanted !== undefined && wanted !== id)
      throw new InstallFailure(
        "manifest",
        `the package of ${wanted} now has the id "${id}"`,
        `svc plugins remove ${wanted}, then install it again`,
      );
    const holder = options.holderOf(id);
    if (holder !== undefined)
      throw new InstallFailure(
        "manifest",
        `the id "${id}" of ${name} is already used by ${holder}`,
        "ask the author of the plugin for another id",
      );
    const other = installed.get(id);
    if (other && other.name !== name)
      throw new InstallFailure(
        "manifest",
        `the id "${id}" of ${name} is already used by ${other.name} ${other.version}, which is installed`,
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
    const why = `only plugins added by svc plugins install can be updated or removed; ${id} comes from ${holder}`;
    throw new InstallFailure("manifest", why, `svc plugins disable ${id}`, code);
  }

  async function ask(agree: Agree, { name, manifest, integrity, items, before }: Question): Promise<void> {
    const { id, version } = manifest;
    const asked = before ? addedItems(items, before.agreed) : items;
    if (before && asked.length === 0) return;
    progress("agree", id);
    const { description } = manifest; // e.g. the licence of what it brings
    const about = before || description === undefined ? [] : [`describes itself as "${description}"`];
    const summary = [...about, ...summaryOf(asked), ...(before ? [] : await declaredLines(manifest))];
    const stands = consentOf(id, integrity, items);
    if (await agree({ id, name, version, summary, isUpdate: before !== undefined, agree: stands })) return;
    const who = `${name} ${version}`;
    const what = before
      ? `${who} requests more permissions than were agreed to`
      : `${who} was not agreed to; it requests these permissions`;
    const lines = summary.map((line) => `  - it ${line}`).join("\n");
    const details = { code: "AGREEMENT_NEEDED", id, summary, agree: stands } as const;
    const next = `review them, then repeat the command with --agree ${stands} (exactly this package, not fetched again), or with --yes`;
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
