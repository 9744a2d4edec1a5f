/** Asks sources for references. One that fails costs what it was asked for and nothing else. */
import { AnySignal } from "@svc/kit/time";
import type { Clock, Contribution, ExtensionView } from "@svc/sdk";
import type { SecretProvider, SecretSource } from "@svc/sdk/secrets";
import { batches, byProvider, idBytes } from "./batches.ts";
import { providerOf, type SecretsConfig } from "./config.ts";
import { Gate } from "./gate.ts";
import type { Lost, Named, Outcome } from "./outcome.ts";
import { printable } from "./printable.ts";
import { SecretText } from "./secret-text.ts";

/** Choice: milliseconds after which a source that answers nothing is given up; longer than any timeout that can be configured. */
const DEADLINE_MS = 150_000;

export interface LookupOptions {
  readonly sources: ExtensionView<SecretSource>;
  /** Of now. */
  readonly config: () => SecretsConfig;
  readonly clock: Pick<Clock, "setTimeout">;
  /** Ends all lookups. */
  readonly signal: AbortSignal;
}

/** Looks references up, each once; an answer for each of their keys. Never throws. */
export type Lookup = (refs: readonly Named[]) => Promise<ReadonlyMap<string, Outcome>>;

export function createLookup({ sources, config, clock, signal }: LookupOptions): Lookup {
  const gate = new Gate(() => config().resolution.maxProviderConcurrency);

  /** All references of one provider. */
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
      return "its id is longer than secrets.resolution.maxBatchBytes allows; raise it";
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
    // A failure is its answer and no fault of its plugin: a vault that is closed says nothing about the code.
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
      return failed(`the source "${contribution.id}" answered with something else than a map`);
    } finally {
      cancel();
      inTime.release();
    }
  }

  /** What a check says; one that throws says no. */
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
      return failed(`no running plugin has the source "${ref.source}"; there are ${known.join(", ")}`);
    }
    const entry = entryFor(ref, current);
    if (entry && "reason" in entry) return entry;
    // The default provider of a source that needs no settings needs no entry.
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
            const lost = failed(`the source "${first.source}" cannot be asked now; try again`); // its plugin went away
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

/** The entry of the configuration, if there is one that fits. */
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
  const reason = `the provider "${provider}" (${source}) has no such secret, or it is empty or no text; put it there, or correct the id`;
  return { state: "missing", reason: printable(reason) };
}

function isLost(value: unknown): value is Lost {
  return typeof value === "object" && value !== null && "reason" in value;
}

function failed(reason: string): Lost {
  return { state: "failed", reason: printable(reason) };
}
