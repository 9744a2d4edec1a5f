/** Updates the gateway of this machine: one update at a time, across all processes. Restarts nothing. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { ownPlaces, type ProgramPlaces } from "@svc/kit/exec";
import { type Clock, isGatewayError, messageOf, type ResultOf } from "@svc/sdk";
import { withWriteLock } from "@svc/sdk/files";
import type { update } from "@svc/sdk/update";
import { programEnvironment, secretValues, withoutSecrets } from "./install/environment.ts";
import { readInstallation } from "./install/facts.ts";
import { updateCheckout } from "./install/git-update.ts";
import { updatePackages } from "./install/npm-update.ts";
import { type Outcome, refused } from "./install/outcome.ts";
import type { Installation } from "./install/place.ts";
import { findPrograms } from "./install/programs.ts";
import { createSteps, StepFailed, type Steps } from "./install/steps.ts";
import { proveVersion } from "./install/trial.ts";

export type UpdateReport = ResultOf<typeof update.run>["result"];

/** A report, with text for people. */
export interface Update {
  readonly report: UpdateReport;
  readonly why?: string;
  readonly byHand?: readonly string[];
}

export interface UpdaterOptions {
  /** Directory of the host's package. */
  readonly hostDirectory: string | undefined;
  readonly version: string;
  readonly clock: Pick<Clock, "elapsed">;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborts a running step, except while files are being put in place. */
  readonly signal: AbortSignal;
  /** Ids of the running plugins. */
  plugins(): readonly string[];
  /** Where to search for git and npm. Default: this machine. */
  readonly places?: ProgramPlaces;
  readonly random?: () => string;
}

export interface UpdateOrder {
  readonly channel: "stable" | "beta" | "dev";
  /** Milliseconds each step may take. */
  readonly timeoutMs: number;
  readonly dryRun: boolean;
}

export interface Updater {
  readonly isRunning: boolean;
  /** Never rejects: errors are part of the report. */
  run(order: UpdateOrder): Promise<Update>;
}

/** Base name of the lock, below the root of the installation. */
const LOCK = ".svc-update";

/**
 * Milliseconds. An update may hold the lock for a day, and no caller waits for the lock. The lock of an ended process
 * is free.
 */
const LOCK_LIMITS = { stale: 24 * 3_600_000, patience: 0 };

const BUSY = {
  reason: "already-running",
  why: "an update is already running",
  byHand: ["wait until it is done, then: svc update"],
};

/** Used until the installation has been read. */
const UNREAD: Installation = {
  mode: "unknown",
  refusal: {
    reason: "unknown-install",
    why: "how this gateway is installed could not be read",
    byHand: ["svc doctor"],
  },
};

export function createUpdater(options: UpdaterOptions): Updater {
  const { clock, env, signal, version } = options;
  const secrets = secretValues(env);
  let isRunning = false;

  async function run(order: UpdateOrder): Promise<Update> {
    const startedAt = clock.elapsed();
    const isFirst = !isRunning;
    if (isFirst) isRunning = true; // before the first await, so that the first of two calls wins
    const shown = programEnvironment(env);
    const steps = createSteps({ clock, timeoutMs: order.timeoutMs, signal, env: shown, secrets });
    let installation: Installation = UNREAD;
    const outcome = await answered(async () => {
      installation = await readInstallation(options.hostDirectory);
      return isFirst ? updateInstallation(installation, order, steps) : refused(BUSY, { version });
    }).finally(() => {
      if (isFirst) isRunning = false;
    });
    const { why, byHand, ...fields } = outcome;
    return {
      report: {
        mode: installation.mode,
        ...(installation.root === undefined ? {} : { root: installation.root }),
        ...fields,
        steps: [...steps.records],
        durationMs: Math.round(clock.elapsed() - startedAt),
      },
      ...(why ? { why } : {}),
      ...(byHand ? { byHand } : {}),
    };
  }

  /** Turns errors into an outcome. */
  async function answered(work: () => Promise<Outcome>): Promise<Outcome> {
    try {
      return await work();
    } catch (error) {
      const text = withoutSecrets(messageOf(error), secrets);
      const why = error instanceof StepFailed ? `the step ${text}` : text;
      return { status: "error", reason: text.slice(0, 500), why, byHand: ["svc doctor"], before: { version } };
    }
  }

  async function updateInstallation(installation: Installation, order: UpdateOrder, steps: Steps): Promise<Outcome> {
    const { mode } = installation;
    if (mode !== "git" && mode !== "npm") return refused(installation.refusal, { version });
    if (installation.refusal) return refused(installation.refusal, { version });
    const programs = await findPrograms(options.places ?? ownPlaces(), process.execPath);
    const prove = (hostDirectory: string) =>
      proveVersion(hostDirectory, {
        steps,
        node: programs.node,
        clock,
        env: programEnvironment(env),
        signal,
        timeoutMs: order.timeoutMs,
        plugins: options.plugins(),
      });
    const random = options.random ?? (() => randomBytes(6).toString("hex"));
    const work = { steps, programs, version, channel: order.channel, dryRun: order.dryRun, prove, random };
    const update = () =>
      installation.mode === "git" ? updateCheckout(installation, work) : updatePackages(installation, work);
    return order.dryRun ? update() : locked(installation.root, update);
  }

  async function locked(root: string, work: () => Promise<Outcome>): Promise<Outcome> {
    let isMine = false;
    try {
      return await withWriteLock(
        join(root, LOCK),
        () => {
          isMine = true;
          return work();
        },
        LOCK_LIMITS,
      );
    } catch (error) {
      if (isMine || !isGatewayError(error)) throw error;
      return refused(BUSY, { version });
    }
  }

  return {
    get isRunning() {
      return isRunning;
    },
    run,
  };
}
