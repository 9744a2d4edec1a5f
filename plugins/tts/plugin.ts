/** Speech: speaks answers and other texts with an engine of this machine or of a service. Owns the engines. */
import { definePlugin, live } from "@svc/sdk";
import { Delivery } from "@svc/sdk/channels";
import { ChatCommand } from "@svc/sdk/commands";
import { GatewayInfo } from "@svc/sdk/gateway";
import { Models } from "@svc/sdk/models";
import { Secrets } from "@svc/sdk/secrets";
import { Sessions } from "@svc/sdk/sessions";
import { Speech, SpeechEngine, tts } from "@svc/sdk/speech";
import { Retention } from "@svc/sdk/storage";
import { Tool } from "@svc/sdk/tools";
import { createSpeech } from "./answers.ts";
import { createAudioFiles } from "./audio-files.ts";
import { ttsCommand } from "./command.ts";
import { TtsConfig } from "./config.ts";
import { createKey } from "./engines/api-key.ts";
import { createEdge } from "./engines/edge.ts";
import { createElevenLabs } from "./engines/elevenlabs.ts";
import { createEspeak } from "./engines/espeak.ts";
import { createOpenAi } from "./engines/openai.ts";
import { createMethods } from "./methods.ts";
import { createPrefs } from "./prefs.ts";
import { createSpeaking } from "./speaking.ts";
import { ttsTool } from "./tool.ts";

export default definePlugin({
  id: "tts",
  api: "^1.0.0",
  section: "messages.tts",
  config: TtsConfig,
  requires: {
    host: GatewayInfo,
    secrets: live(Secrets),
    sessions: live(Sessions),
    models: live(Models),
    delivery: live(Delivery),
  },
  provides: [Speech],

  setup(gateway) {
    const { clock, log, services, signal } = gateway;
    let settings = gateway.config;
    gateway.configChanged((changed) => {
      settings = changed;
    });
    const config = () => settings;
    const { env: environment } = process;
    const { secrets } = services;
    const view = gateway.own(SpeechEngine);

    const openAiKey = createKey({
      setting: "messages.tts.openai.apiKey",
      configured: () => settings.openai.apiKey,
      variable: "OPENAI_API_KEY",
      environment,
      secrets,
    });
    const elevenLabsKey = createKey({
      setting: "messages.tts.elevenlabs.apiKey",
      configured: () => settings.elevenlabs.apiKey,
      variable: "ELEVENLABS_API_KEY",
      environment,
      secrets,
    });
    gateway.extend(SpeechEngine, "openai", createOpenAi({ settings: () => settings.openai, key: openAiKey }));
    gateway.extend(
      SpeechEngine,
      "elevenlabs",
      createElevenLabs({ settings: () => settings.elevenlabs, key: elevenLabsKey }),
    );
    gateway.extend(
      SpeechEngine,
      "edge",
      createEdge({ settings: () => settings.edge, timeoutMs: () => settings.timeoutMs, clock }),
    );
    gateway.extend(SpeechEngine, "espeak", createEspeak({ settings: () => settings.espeak }));

    const prefs = createPrefs({
      stateDir: () => services.host.stateDir,
      configured: () => settings.prefsPath,
      environment,
      clock,
      log,
    });
    const takesVoice = (channel: string) => services.delivery.get()?.takesVoice(channel) ?? false;
    const speaking = createSpeaking({ view, config, prefs, takesVoice, clock, log, signal });
    const fitting = { models: () => services.models.get(), summaryModel: () => settings.summaryModel, clock, log };
    const speech = createSpeech({ speaking, config, prefs, sessions: services.sessions, fitting, log });
    gateway.provide(Speech, speech);

    const files = createAudioFiles(() => gateway.stateDir, clock);
    const hasKey = { openai: openAiKey.isSet, elevenlabs: elevenLabsKey.isSet };
    gateway.serve(tts, createMethods({ view, config, prefs, speaking, files, hasKey, clock }));
    const conversation = { speech, delivery: services.delivery, files };
    gateway.extend(Tool, "tts", ttsTool(conversation));
    gateway.extend(
      ChatCommand,
      "tts",
      ttsCommand({ ...conversation, view, config, prefs, clock, sessions: services.sessions, signal }),
    );
    gateway.extend(Retention, "speech", {
      files: ["plugins/tts"],
      holds: "audio files of tts.convert and of the tool tts",
      rule: "5 minutes",
      clean: (dryRun) => files.clean(dryRun),
    });
    gateway.onStop(() => files.close());
  },
});
