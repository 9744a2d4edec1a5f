/** Secrets of the running configuration: looked up in advance, revealed to plugins, and reloaded. Spec: http/config.md §6. */
import { type Logger, unavailable } from "@svc/sdk";
import type { SecretPlaces, SecretRef, Secrets } from "@svc/sdk/secrets";
import { named } from "./batches.ts";
import type { SecretsConfig } from "./config.ts";
import type { Lookup } from "./lookup.ts";
import type { Lost, Named, Outcome } from "./outcome.ts";
import { placedRefs, type PlacedRef } from "./places.ts";
import { printable } from "./printable.ts";
import { Snapshot } from "./snapshot.ts";
import { SharedTurns } from "./shared-turns.ts";

export interface RunningSecretsOptions {
  readonly places: SecretPlaces;
  /** The current configuration. */
  readonly config: () => SecretsConfig;
  readonly lookup: Lookup;
  readonly log: Logger;
}

/** A reference and its last outcome. */
export interface KnownRef extends PlacedRef {
  /** `undefined`: never looked up. */
  readonly outcome: Outcome | undefined;
}

/** Maximum number of references that an error message names. */
const MOST_NAMED = 20;

export class RunningSecrets implements Secrets {
  readonly #options: RunningSecretsOptions;
  readonly #turns = new SharedTurns();
  #snapshot = new Snapshot();
  /** Problems already logged; empty when every reference is found and read. */
  #told = new Set<string>();
  #degraded = false;

  constructor(options: RunningSecretsOptions) {
    this.#options = options;
  }

  async reveal(setting: string | SecretRef): Promise<string> {
    if (typeof setting === "string") return setting;
    const ref = named(setting, this.#options.config());
    const known = this.#snapshot.get(ref.key);
    const outcome = known?.state === "found" ? known : await this.#add(ref);
    if (outcome.state === "found") return outcome.text.reveal();
    return unavailable(`${this.#nameOf(ref)} is not available: ${outcome.reason}\nNext: svc secrets list`);
  }

  /** Looks up all references; one that fails keeps its previous value. Never throws. */
  async refresh(): Promise<void> {
    await this.#turns.run("refresh", async () => {
      const { refs, outcomes } = await this.#lookAll();
      this.#snapshot = this.#snapshot.next(outcomes);
      this.#tell(refs, outcomes);
    });
  }

  /**
   * Looks up all references and applies all results, or none if one fails.
   * @returns the number of references that no running plugin reads
   * @throws GatewayError `UNAVAILABLE` naming the failed references and the reasons; the previous values stay
   */
  reload(): Promise<number> {
    return this.#turns.run("reload", async () => {
      const { refs, outcomes } = await this.#lookAll();
      const lost = failures(refs, outcomes);
      this.#tell(refs, outcomes);
      if (lost.length > 0) {
        const some = lost.slice(0, MOST_NAMED).map(({ path, reason }) => `${path}: ${reason}`);
        const more = lost.length > some.length ? [`and ${lost.length - some.length} more`] : [];
        unavailable(
          `nothing was reloaded, the previous secrets stay in use: ${[...some, ...more].join("; ")}\nNext: correct them, then svc secrets reload`,
        );
      }
      this.#snapshot = new Snapshot(outcomes);
      return refs.filter(({ active }) => !active).length;
    });
  }

  /** All references of the configuration, without a lookup. */
  list(): readonly KnownRef[] {
    return this.#refs().map((placed) => ({ ...placed, outcome: this.#snapshot.get(placed.ref.key) }));
  }

  #refs(): PlacedRef[] {
    return placedRefs(this.#options.places.list(), this.#options.config());
  }

  /** References that no plugin reads are skipped: a lookup would cost time and disclose them to the vault. Spec. */
  async #lookAll() {
    const refs = this.#refs();
    const outcomes = await this.#options.lookup(refs.filter(({ active }) => active).map(({ ref }) => ref));
    this.#keepFromLogs([...outcomes.values()]);
    return { refs, outcomes };
  }

  /** Adds to the current snapshot; a snapshot that replaces it meanwhile has newer values. */
  #add(ref: Named): Promise<Outcome> {
    return this.#snapshot.add(ref.key, async () => {
      const outcome = (await this.#options.lookup([ref])).get(ref.key) ?? NO_ANSWER;
      this.#keepFromLogs([outcome]);
      return outcome;
    });
  }

  /** Registers found values for redaction before a caller gets them. */
  #keepFromLogs(outcomes: readonly Outcome[]): void {
    this.#options.places.found(
      outcomes.flatMap((outcome) => (outcome.state === "found" ? [outcome.text.reveal()] : [])),
    );
  }

  /** Names a reference by its places, never by its id. */
  #nameOf(ref: Named): string {
    const paths = this.#refs().flatMap(({ path, ref: { key } }) => (key === ref.key ? [path] : []));
    const where = paths.length > 0 ? paths.slice(0, MOST_NAMED).join(", ") : "a reference of a plugin";
    return printable(`the secret of ${where} (source ${ref.source}, provider ${ref.provider})`);
  }

  /** Logs each problem once, and recovery once. Spec: the codes. */
  #tell(refs: readonly PlacedRef[], outcomes: ReadonlyMap<string, Outcome>): void {
    const { log } = this.#options;
    const now = new Set<string>();
    for (const { path, reason } of failures(refs, outcomes)) {
      const line = printable(`${path}: ${reason}`);
      now.add(line);
      if (!this.#told.has(line)) log.warn({ code: "SECRETS_RELOADER_DEGRADED", path: printable(path) }, line);
    }
    for (const { path } of refs.filter(({ active }) => !active)) {
      const line = printable(`${path}: the reference is not looked up: no running plugin reads this section`);
      now.add(line);
      if (!this.#told.has(line))
        log.info({ code: "SECRETS_REF_IGNORED_INACTIVE_SURFACE", path: printable(path) }, line);
    }
    const wasBad = this.#degraded;
    this.#degraded = failures(refs, outcomes).length > 0;
    if (wasBad && !this.#degraded) log.info({ code: "SECRETS_RELOADER_RECOVERED" }, "all secrets are found again");
    this.#told = now;
  }
}

const NO_ANSWER: Lost = { state: "failed", reason: "its source returned nothing" };

function failures(refs: readonly PlacedRef[], outcomes: ReadonlyMap<string, Outcome>) {
  return refs.flatMap(({ path, ref, active }) => {
    const outcome = outcomes.get(ref.key);
    return active && outcome && outcome.state !== "found" ? [{ path, reason: outcome.reason }] : [];
  });
}
