/** Which engine speaks, and which others can. Spec: protocol/methods-tts.md. */
import { type Clock, type Contribution, type ExtensionView, messageOf, untilAborted } from "@svc/sdk";
import type { SpeechEngine } from "@svc/sdk/speech";
import { withDeadline } from "@svc/kit/time";

export type Engine = Contribution<SpeechEngine>;

/** Choice: milliseconds in which an engine says what it lacks; an engine of a plugin may be in another process. */
const ASK_MS = 10_000;
/** Choice: engines of plugins come last. */
const ORDER = ["openai", "elevenlabs", "edge", "espeak"];
/** Selected if no engine can speak. */
const LAST_RESORT = "edge";

/** An engine, and what it lacks. */
export interface EngineState {
  readonly engine: Engine;
  /** For people; `undefined`: it can speak. */
  readonly missing: string | undefined;
}

/** All engines, in the order of their use. Never rejects. */
export async function engineStates(
  view: ExtensionView<SpeechEngine>,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly EngineState[]> {
  const rank = ({ id }: Engine) => (ORDER.includes(id) ? ORDER.indexOf(id) : ORDER.length);
  const engines = [...view.list()].sort((one, other) => rank(one) - rank(other));
  return Promise.all(
    engines.map(async (engine) => {
      const late = () => `it did not respond within ${ASK_MS / 1_000} s`;
      const ask = (stop: AbortSignal) =>
        untilAborted(
          view.call(engine, async (value) => value.missing()),
          stop,
        );
      const missing = await withDeadline({ ms: ASK_MS, clock, signals: [signal], late }, ask).catch(messageOf);
      return { engine, missing };
    }),
  );
}

/** Id of the selected engine. @param wanted stored preference, then configuration; ids of unknown engines are ignored */
export function activeEngine(states: readonly EngineState[], wanted: readonly (string | undefined)[]): string {
  const known = (id: string | undefined) => id !== undefined && states.some(({ engine }) => engine.id === id);
  const usable = states.find(({ missing }) => missing === undefined);
  return wanted.find(known) ?? usable?.engine.id ?? LAST_RESORT;
}

/** The other engines that can speak. */
export function fallbacks(states: readonly EngineState[], active: string): readonly Engine[] {
  return states
    .filter(({ engine, missing }) => missing === undefined && engine.id !== active)
    .map(({ engine }) => engine);
}
