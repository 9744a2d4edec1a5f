/** Handlers of `tts.*`. Spec: protocol/methods-tts.md. */
import {
  type Clock,
  type ExtensionView,
  GatewayError,
  type Handlers,
  invalidRequest,
  isGatewayError,
  unavailable,
} from "@svc/sdk";
import type { SpeechEngine, tts } from "@svc/sdk/speech";
import { autoOf } from "./answers.ts";
import type { AudioFiles } from "./audio-files.ts";
import { activeEngine, engineStates, fallbacks } from "./choice.ts";
import type { TtsConfig } from "./config.ts";
import type { PrefsFile } from "./prefs.ts";
import type { Speaking } from "./speaking.ts";

export interface MethodSources {
  readonly view: ExtensionView<SpeechEngine>;
  readonly config: () => TtsConfig;
  readonly prefs: PrefsFile;
  readonly speaking: Speaking;
  readonly files: AudioFiles;
  readonly hasKey: { readonly openai: () => boolean; readonly elevenlabs: () => boolean };
  readonly clock: Clock;
}

type StatusSources = Pick<MethodSources, "view" | "config" | "prefs" | "clock">;

/** What is selected now. */
export async function statusOf({ view, config, prefs, clock }: StatusSources, signal: AbortSignal) {
  const [states, stored] = await Promise.all([engineStates(view, clock, signal), prefs.read()]);
  const provider = activeEngine(states, [stored.provider, config().provider]);
  const fallbackProviders = fallbacks(states, provider).map(({ id }) => id);
  return { states, auto: autoOf(stored, config()), provider, fallbackProviders };
}

/** Stores the selected engine. @throws GatewayError `INVALID_REQUEST` listing the engines */
export async function selectEngine(
  given: unknown,
  { view, prefs }: Pick<MethodSources, "view" | "prefs">,
): Promise<string> {
  const provider = typeof given === "string" ? given.trim().toLowerCase() : "";
  if (!view.get(provider)) {
    const ids = view.list().map(({ id }) => id);
    invalidRequest(`provider must be one of: ${ids.join(", ")}`);
  }
  await prefs.change({ provider });
  return provider;
}

export function createMethods(sources: MethodSources): Handlers<typeof tts> {
  const { config, prefs, speaking, files, hasKey } = sources;
  return {
    async status({ signal }) {
      const { auto, provider, fallbackProviders } = await statusOf(sources, signal);
      return {
        enabled: auto !== "off",
        auto,
        provider,
        fallbackProvider: fallbackProviders[0] ?? null,
        fallbackProviders,
        prefsPath: prefs.path(),
        hasOpenAIKey: hasKey.openai(),
        hasElevenLabsKey: hasKey.elevenlabs(),
        edgeEnabled: config().edge.enabled,
      };
    },

    async providers({ signal }) {
      const { states, provider } = await statusOf(sources, signal);
      const providers = states.map(({ engine: { id, value }, missing }) => ({
        id,
        name: value.label,
        configured: missing === undefined,
        models: [...(value.models ?? [])],
        ...(value.voices === undefined ? {} : { voices: [...value.voices] }),
      }));
      return { providers, active: provider };
    },

    async enable() {
      await prefs.change({ auto: "always" });
      return { enabled: true };
    },

    async disable() {
      await prefs.change({ auto: "off" });
      return { enabled: false };
    },

    setProvider: async ({ params }) => ({ provider: await selectEngine(params.provider, sources) }),

    async convert({ params: { text, channel }, signal }) {
      if (typeof text !== "string" || text.trim() === "")
        return invalidRequest("text is blank; give the words to speak");
      const name = typeof channel === "string" && channel.trim() !== "" ? { channel: channel.trim() } : {};
      try {
        const spoken = await speaking.speak({ text: text.trim(), ...name }, signal);
        const audioPath = await files.add(spoken);
        return { audioPath, provider: spoken.provider, outputFormat: spoken.format, voiceCompatible: spoken.isVoice };
      } catch (error) {
        // Spec: any failure but a blank text is UNAVAILABLE.
        if (!isGatewayError(error))
          unavailable("the text could not be spoken; the log has the reason", { cause: error });
        throw error.code === "INVALID_REQUEST" ? new GatewayError("UNAVAILABLE", error.message) : error;
      }
    },
  };
}
