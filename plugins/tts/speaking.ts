/** Speaks one text: selects engines, limits them, and tries the next one if one fails. */
import { AnySignal, createSlots, withDeadline } from "@svc/kit/time";
import {
  type Clock,
  type ExtensionView,
  GatewayError,
  invalidRequest,
  isGatewayError,
  type Logger,
  messageOf,
  unavailable,
  untilAborted,
} from "@svc/sdk";
import type { SpeechEngine, SpeechFormat, SpeechJob, Spoken, SpokenAudio } from "@svc/sdk/speech";
import { FACTS, spoken } from "./audio.ts";
import { activeEngine, type Engine, engineStates, fallbacks } from "./choice.ts";
import type { TtsConfig } from "./config.ts";
import { converted } from "./conversion.ts";
import type { PrefsFile } from "./prefs.ts";

/** Choice: texts spoken at the same time, and texts that wait. */
const MAX_RUNNING = 3;
const MAX_WAITING = 20;
const RETRY_MS = 5_000;

export interface SpeakingSources {
  readonly view: ExtensionView<SpeechEngine>;
  readonly config: () => TtsConfig;
  readonly prefs: Pick<PrefsFile, "read">;
  /** Whether a channel shows Opus as a voice message. */
  readonly takesVoice: (channel: string) => boolean;
  readonly clock: Clock;
  readonly log: Pick<Logger, "info">;
  /** Aborts when the plugin stops. */
  readonly signal: AbortSignal;
}

export interface Speaking {
  /** @throws GatewayError `INVALID_REQUEST`: blank or too long; `UNAVAILABLE`: no engine could speak it, or it was interrupted */
  speak(job: SpeechJob, signal: AbortSignal): Promise<Spoken>;
  interrupt(sessionKey: string): void;
}

interface Choice {
  /** Id of the selected engine, which may not be ready. */
  readonly active: string;
  /** The ready engines. */
  readonly engines: readonly Engine[];
}

export function createSpeaking(sources: SpeakingSources): Speaking {
  const { view, config, prefs, takesVoice, clock, log } = sources;
  const slots = createSlots(
    () => MAX_RUNNING,
    MAX_WAITING,
    () => unavailable("too many texts wait to be spoken; try again in a few seconds", { retryAfterMs: RETRY_MS }),
  );
  /** The newest job of each session. */
  const jobs = new Map<string, AnySignal>();

  /** The engines to try in this order; the job's wishes are for the selected one. */
  async function choose(first: string | undefined, signal: AbortSignal): Promise<Choice> {
    const [states, { provider }] = await Promise.all([engineStates(view, clock, signal), prefs.read()]);
    if (first !== undefined && !view.get(first))
      invalidRequest(`there is no speech engine "${first}"; see tts.providers`);
    const active = first ?? activeEngine(states, [provider, config().provider]);
    const chosen = states.find(({ engine }) => engine.id === active);
    const others = fallbacks(states, active);
    if (chosen?.missing === undefined) return { active, engines: chosen ? [chosen.engine, ...others] : others };
    if (others.length === 0)
      unavailable(`no speech engine is ready: ${chosen.engine.value.label}: ${chosen.missing}; see tts.providers`);
    return { active, engines: others };
  }

  async function oneEngine(engine: Engine, request: Parameters<SpeechEngine["speak"]>[0], signal: AbortSignal) {
    const { timeoutMs: ms } = config();
    const { label } = engine.value;
    const late = () => `${label} did not finish within ${ms / 1_000} s`;
    return withDeadline({ ms, clock, signals: [signal], late }, async (stop) => {
      // An engine may be in another process and ignore the signal.
      const answer = await untilAborted(
        view.call(engine, async (value) => value.speak(request, stop)),
        stop,
      );
      const bytes: unknown = Object(answer).bytes;
      const audio = spoken(bytes instanceof Uint8Array ? bytes : new Uint8Array(), label);
      const whole: SpokenAudio = answer.words === undefined ? audio : { ...audio, words: answer.words };
      return converted(whole, request.format, stop).catch((error: unknown) => {
        stop.throwIfAborted();
        log.info(
          { engine: engine.id, reason: messageOf(error) },
          "speech is sent in another format than its channel prefers",
        );
        return whole;
      });
    });
  }

  async function speakWith({ active, engines }: Choice, job: SpeechJob, format: SpeechFormat, signal: AbortSignal) {
    const reasons: string[] = [];
    for (const engine of engines) {
      try {
        const wishes = engine.id === active ? job.wishes : undefined;
        const audio = await oneEngine(engine, { ...wishes, text: job.text, format }, signal);
        return { ...audio, ...FACTS[audio.format], provider: engine.id };
      } catch (error) {
        signal.throwIfAborted();
        const reason = isGatewayError(error) ? error.message : "it failed; the log has the reason";
        log.info({ engine: engine.id, reason: messageOf(error) }, "a speech engine failed; trying the next one");
        reasons.push(`${engine.value.label}: ${reason}`);
      }
    }
    return unavailable(`no speech engine could speak the text: ${reasons.join("; ")}`);
  }

  return {
    async speak(job, signal) {
      const { maxTextLength, timeoutMs } = config();
      if (job.text.trim() === "") invalidRequest("text is blank; give the words to speak");
      if (job.text.length > maxTextLength)
        invalidRequest(`text has ${job.text.length} characters; at most ${maxTextLength} (messages.tts.maxTextLength)`);
      const { sessionKey } = job;
      const ending = new AnySignal(signal, sources.signal);
      if (sessionKey !== undefined) {
        interrupt(jobs, sessionKey, "a newer text of the same conversation");
        jobs.set(sessionKey, ending);
      }
      const ms = 2 * timeoutMs;
      const late = () => `the text was not spoken within ${ms / 1_000} s (messages.tts.timeoutMs)`;
      try {
        return await withDeadline({ ms, clock, signals: [ending.signal], late }, (stop) =>
          slots.use(stop, async () => {
            const format = job.channel !== undefined && takesVoice(job.channel) ? "opus" : "mp3";
            return speakWith(await choose(job.engine, stop), job, format, stop);
          }),
        );
      } finally {
        ending.release();
        if (sessionKey !== undefined && jobs.get(sessionKey) === ending) jobs.delete(sessionKey);
      }
    },

    interrupt: (sessionKey) => interrupt(jobs, sessionKey, "a new message of the person"),
  };
}

function interrupt(jobs: Map<string, AnySignal>, sessionKey: string, by: string): void {
  jobs.get(sessionKey)?.abort(new GatewayError("UNAVAILABLE", `speech was interrupted by ${by}`));
  jobs.delete(sessionKey);
}
