/** Resolves references at their sources. A failing source affects only its own references. */
import { AnySignal } from "@svc/kit/time";
import type { Clock, Contribution, ExtensionView } from "@svc/sdk";
import type { SecretProvider, SecretSource } from "@svc/sdk/secrets";
import { batches, byProvider, idBytes } from "./batches.ts";
import { providerOf, type SecretsConfig } from "./config.ts";
import { Gate } from "./gate.ts";
import type { Lost, Named, Outcome } from "./outcome.ts";
import { printable } from "./printable.ts";
import { SecretText } from "./secret-text.ts";

/** Choice: deadline of a call of a source in milliseconds; longer than any timeout that can be configured. */
const DEADLINE_MS = 150_000;

export interface LookupOptions {
  readonly sources: ExtensionView<SecretSource>;
  /** The current configuration. */
  readonly config: () => SecretsConfig;
  readonly clock: Pick<Clock, "setTimeout">;
  /** Aborts all lookups. */
  readonly signal: AbortSignal;
}

/** Looks up each reference once and returns an outcome for each key. Never throws. */
export type Lookup = (refs: readonly Named[]) => Promise<ReadonlyMap<string, Outcome>>;

export function createLookup({ sources, config, clock, signal }: LookupOptions): Lookup {
  const gate = new Gate(() => config().resolution.maxProviderConcurrency);

  /** Looks up all references of one provider. */
  async function ask(refs: readonly [Named, ...Named[]]): Promise<readonly (readonly [string, Outcome])[]> {
    const current = config();
    const target = targetOf(refs[0], current, sources);
    if ("reason" in target) return refs.map(({ key }) => [key, target]);
    const { contribution, provider } = target;
    const refused = new Map<string, Lost>();
    for (const ref of refs) {
      const why = problemOfId(ref, target, current);
      if (why !== undefined) refused.set(ref.key, failed(why));
    }
    const outcomes: (readonly [string, Outcome])[] = [...refused];
    const askable = refs.filter(({ key }) => !refused.has(key));
    for (const batch of batches(askable, current.resolution)) {
      const answer = await answerOf(contribution, provider, batch);
      for (const ref of batch) outcomes.push([ref.key, "reason" in answer ? answer : outcomeOf(ref, answer)]);
    }
    return outcomes;
  }

  function problemOfId(ref: Named, { contribution, provider }: Target, { resolution }: SecretsConfig) {
    if (idBytes(ref) > resolution.maxBatchBytes)
      return "its id is longer than secrets.resolution.maxBatchBytes allows; raise that limit";
    return guarded(contribution, (source) => source.checkId(ref.id, provider), "checkId");
  }

  async function answerOf(
    contribution: Contribution<SecretSource>,
    provider: SecretProvider,
    batch: readonly Named[],
  ): Promise<ReadonlyMap<string, string> | Lost> {
    const inTime = new AnySignal(signal);
    const ids = batch.map(({ id }) => id);
    let cancel = () => {};
    const late = new Promise<Lost>((resolve) => {
      cancel = clock.setTimeout(() => {
        inTime.abort();
        resolve(failed(`the source "${contribution.id}" did not answer within ${DEADLINE_MS} ms`));
      }, DEADLINE_MS);
    });
    // A failure is returned, not thrown, so that it does not count as a fault of the plugin: a closed vault is no bug.
    const answer = sources.call(contribution, async (source) => {
      try {
        return await source.resolve(provider, ids, inTime.signal);
      } catch (error) {
        return failed(error instanceof Error ? error.message : "the source failed");
      }
    });
    try {
      const outcome: unknown = await Promise.race([answer, late]);
      if (outcome instanceof Map || isLost(outcome)) return outcome;
      return failed(`the source "${contribution.id}" did not return a Map`);
    } finally {
      cancel();
      inTime.release();
    }
  }

  /** The result of a check; a check that throws counts as a refusal. */
  function guarded(
    contribution: Contribution<SecretSource>,
    check: (source: SecretSource) => string | undefined,
    what: string,
  ): string | undefined {
    try {
      return sources.call(contribution, check);
    } catch {
      return `the source "${contribution.id}" failed in ${what}; the log says why`;
    }
  }

  function targetOf(ref: Named, current: SecretsConfig, view: ExtensionView<SecretSource>): Target | Lost {
    const contribution = view.get(ref.source);
    if (!contribution) {
      const known = view.list().map(({ id }) => id);
      return failed(`no running plugin provides the source "${ref.source}"; available: ${known.join(", ")}`);
    }
    const entry = entryFor(ref, current);
    if (entry && "reason" in entry) return entry;
    // The default provider of a source without required settings needs no entry.
    const usual = ref.provider === providerOf({ source: ref.source }, current);
    const provider = entry ?? { name: ref.provider, settings: {} };
    const wrong = guarded(contribution, (source) => source.check(provider), "check");
    if (entry ? wrong === undefined : usual && wrong === undefined) return { contribution, provider };
    return failed(
      entry && wrong ? wrong : `there is no secrets.providers.${ref.provider}; add it with source "${ref.source}"`,
    );
  }

  return async (refs) => {
    const groups = await Promise.all(
      byProvider(refs).map(([first, ...more]) =>
        gate
          .run(() => ask([first, ...more]))
          .catch(() => {
            const lost = failed(`the source "${first.source}" is not available now; try again`); // its plugin stopped
            return [first, ...more].map(({ key }) => [key, lost] as const);
          }),
      ),
    );
    return new Map(groups.flat());
  };
}

interface Target {
  readonly contribution: Contribution<SecretSource>;
  readonly provider: SecretProvider;
}

/** The provider of a reference; `undefined` when none is configured, a failure when it has another source. */
function entryFor({ source, provider: name }: Named, { providers }: SecretsConfig): SecretProvider | Lost | undefined {
  const entry = Object.hasOwn(providers, name) ? providers[name] : undefined;
  if (!entry) return undefined;
  const { source: own, ...settings } = entry;
  if (own === source) return { name, settings };
  return failed(
    `secrets.providers.${name} has the source "${own}", the reference says "${source}"; correct one of the two`,
  );
}

function outcomeOf({ id, provider, source }: Named, answer: ReadonlyMap<string, string>): Outcome {
  const value: unknown = answer.get(id);
  if (typeof value === "string" && value !== "") return { state: "found", text: new SecretText(value) };
  const reason = `the provider "${provider}" (${source}) has no such secret, or the secret is empty or not a string; add it there, or correct the id`;
  return { state: "missing", reason: printable(reason) };
}

function isLost(value: unknown): value is Lost {
  return typeof value === "object" && value !== null && "reason" in value;
}

function failed(reason: string): Lost {
  return { state: "failed", reason: printable(reason) };
}
