/** Checks for a newer version: in npm's registry, or on the branch that a checkout follows. Writes nothing. */
import { ownPlaces, type ProgramPlaces } from "@svc/kit/exec";
import { type Clock, messageOf, type Static } from "@svc/sdk";
import type { UpdateAvailable } from "@svc/sdk/update";
import { programEnvironment, secretValues, withoutSecrets } from "./install/environment.ts";
import { readInstallation } from "./install/facts.ts";
import { followed, remoteHead } from "./install/git-update.ts";
import { isNewer, newestVersion } from "./install/npm-update.ts";
import type { Installation } from "./install/place.ts";
import { findPrograms, type Programs } from "./install/programs.ts";
import { createSteps, type Steps } from "./install/steps.ts";
import type { UpdateSettings } from "./settings.ts";

export type Available = Static<typeof UpdateAvailable>;

export interface Answer {
  readonly mode: Installation["mode"];
  /** The newer version; `null`: there is no newer version, or it is unknown. */
  readonly available: Available;
  /** Why the newer version is unknown. */
  readonly reason?: string;
}

export interface AskOptions {
  readonly hostDirectory: string | undefined;
  readonly version: string;
  readonly channel: UpdateSettings["channel"];
  readonly clock: Pick<Clock, "elapsed">;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Where to search for git and npm. Default: this machine. */
  readonly places?: ProgramPlaces;
}

/** Choice: maximum milliseconds of a step. */
const TIMEOUT = 60_000;

/** Never rejects. */
export async function askNewest(options: AskOptions): Promise<Answer> {
  const { clock, signal, env } = options;
  const secrets = secretValues(env);
  const installation = await readInstallation(options.hostDirectory);
  const { mode, refusal } = installation;
  if (mode !== "git" && mode !== "npm") return { mode, available: null, reason: refusal.why };
  try {
    const programs = await findPrograms(options.places ?? ownPlaces(), process.execPath);
    const steps = createSteps({ clock, timeoutMs: TIMEOUT, signal, env: programEnvironment(env), secrets });
    const ask = mode === "git" ? askRemote : askRegistry;
    return { mode, ...(await ask(installation.root, { ...options, programs, steps })) };
  } catch (error) {
    return { mode, available: null, reason: withoutSecrets(messageOf(error), secrets).slice(0, 500) };
  }
}

type Tools = AskOptions & { readonly programs: Programs; readonly steps: Steps };
type Found = Omit<Answer, "mode">;

async function askRegistry(root: string, { programs: { npm }, steps, channel, version }: Tools): Promise<Found> {
  if (!npm) return { available: null, reason: "npm was not found" };
  const latest = await newestVersion({ root, npm, steps, channel });
  if (latest === undefined) return { available: null, reason: "the registry has no such package" };
  return { available: isNewer(latest, version) ? { currentVersion: version, latestVersion: latest, channel } : null };
}

/** A commit that is already part of the local history is not newer. */
async function askRemote(root: string, { programs: { git }, steps, version }: Tools): Promise<Found> {
  if (!git) return { available: null, reason: "git was not found" };
  const repository = { root, git, steps };
  const { branch, upstream } = await followed(repository);
  if (!upstream) return { available: null, reason: `${branch ?? "the checkout"} has no upstream branch` };
  const sha = await remoteHead(upstream, repository);
  if (sha === undefined) return { available: null, reason: `the remote ${upstream.remote} has no ${upstream.ref}` };
  const head = await steps.run("head", git, ["rev-parse", "HEAD"], { cwd: root });
  const isHere = await steps.attempt("here", git, ["merge-base", "--is-ancestor", sha, "HEAD"], { cwd: root });
  if (sha === head || isHere.exitCode === 0) return { available: null };
  const channel = upstream.ref.replace("refs/heads/", "");
  return { available: { currentVersion: `${version}+${head.slice(0, 7)}`, latestVersion: sha.slice(0, 7), channel } };
}
