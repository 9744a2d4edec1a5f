/** Talk mode and wake words of voice clients; stops a voice when a person speaks. */
import { coversScope, definePlugin, live } from "@svc/sdk";
import { ConfigStore } from "@svc/sdk/config";
import { refusal } from "@svc/sdk/errors";
import { GatewayInfo } from "@svc/sdk/gateway";
import { Importer } from "@svc/sdk/import";
import { revealSetting, type SecretRef, Secrets } from "@svc/sdk/secrets";
import { Sessions } from "@svc/sdk/sessions";
import { Speech } from "@svc/sdk/speech";
import { talk, talkMode, voicewake, voicewakeChanged } from "@svc/sdk/talk";
import { TalkConfig } from "./config.ts";
import { wakeWordsImporter } from "./import.ts";
import { readMode, requirePhone } from "./mode.ts";
import { seamColorOf, talkSettings } from "./settings.ts";
import { WakeWords } from "./wake-words.ts";

/** Lets a client read the keys of `talk.config` without `operator.admin`. Spec: protocol/methods-talk.md §1. */
const SECRETS_SCOPE = "operator.talk.secrets";

export default definePlugin({
  id: "talk",
  api: "^1.0.0",
  config: TalkConfig,
  requires: {
    host: GatewayInfo,
    store: ConfigStore,
    secrets: live(Secrets),
    sessions: live(Sessions),
    speech: live(Speech),
  },

  setup(gateway) {
    const { clock, services, hooks } = gateway;
    let { config } = gateway;
    gateway.configChanged((next) => void (config = next));

    const tellMode = gateway.event(talkMode);
    gateway.serve(talk, {
      async config({ params: { includeSecrets = false }, principal }) {
        const { scopes } = principal;
        if (includeSecrets && !scopes.includes(SECRETS_SCOPE) && !coversScope(scopes, "operator.admin")) {
          throw refusal("MISSING_SCOPE", `missing scope: ${SECRETS_SCOPE}`, { scope: SECRETS_SCOPE });
        }
        const mainKey = services.sessions.get()?.defaults().mainKey;
        const reveal = (key: string | SecretRef) =>
          revealSetting(key, services.secrets.get(), "a key of the section talk");
        const seamColor = await seamColorOf(services.store);
        return talkSettings({ config, seamColor, mainKey, reveal: includeSecrets ? reveal : undefined });
      },
      mode({ params, connection }) {
        requirePhone(connection, [...services.host.connections(), ...services.host.connectionsElsewhere()]);
        const mode = { ...readMode(params), ts: clock.now() };
        tellMode(mode);
        return mode;
      },
    });

    let words: WakeWords | undefined;
    const wakeWords = () => (words ??= new WakeWords(services.host.stateDir, gateway.log));
    const tellWords = gateway.event(voicewakeChanged);
    gateway.serve(voicewake, {
      get: async () => ({ triggers: [...(await wakeWords().get())] }),
      async set({ params }) {
        const triggers = [...(await wakeWords().set(params.triggers, clock.now()))];
        tellWords({ triggers });
        return { triggers };
      },
    });
    const changed = (triggers: readonly string[]) => tellWords({ triggers: [...triggers] });
    gateway.extend(Importer, "wake-words", wakeWordsImporter({ words: wakeWords, clock, changed }));
    hooks.nodeConnected.tap(async ({ connectionId }) => {
      tellWords({ triggers: [...(await wakeWords().get())] }, { connections: [connectionId] });
    });
    hooks.nodeSpoke.tap(async ({ sessionKey }) => {
      if (config.interruptOnSpeech !== false) await services.speech.get()?.interrupt(sessionKey);
    });
  },
});
