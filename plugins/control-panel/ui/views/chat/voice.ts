/** Dictation, where the browser offers it. */
import { locale } from "../../core/text.ts";

interface Recognition extends EventTarget {
  lang: string;
  continuous: boolean;
  start(): void;
  stop(): void;
}

/** Events of the browser's speech recognition. */
interface Heard extends Event {
  readonly resultIndex: number;
  readonly results: ArrayLike<ArrayLike<{ readonly transcript: string }> & { readonly isFinal: boolean }>;
}

export interface Voice {
  readonly isOffered: boolean;
  readonly isOn: boolean;
  start(): void;
  stop(): void;
}

export interface VoiceOptions {
  readonly heard: (text: string) => void;
  readonly changed: () => void;
  /** @param reason word of the browser, e.g. `not-allowed` */
  readonly failed: (reason: string) => void;
}

export function createVoice({ heard, changed, failed }: VoiceOptions): Voice {
  const names = globalThis as {
    SpeechRecognition?: new () => Recognition;
    webkitSpeechRecognition?: new () => Recognition;
  };
  const Recognizer = names.SpeechRecognition ?? names.webkitSpeechRecognition;
  let active: Recognition | undefined;
  return {
    isOffered: Recognizer !== undefined,
    get isOn() {
      return active !== undefined;
    },
    start() {
      if (!Recognizer || active) return;
      const mine = new Recognizer();
      active = mine;
      mine.lang = locale;
      mine.continuous = true;
      mine.addEventListener("result", (event) => {
        const { results, resultIndex } = event as Heard;
        const said = Array.from(results)
          .slice(resultIndex)
          .filter(({ isFinal }) => isFinal);
        for (const result of said) heard(result[0]?.transcript ?? "");
      });
      mine.addEventListener("error", (event) => failed((event as Event & { readonly error: string }).error));
      mine.addEventListener("end", () => {
        if (active === mine) active = undefined;
        changed();
      });
      mine.start();
      changed();
    },
    stop() {
      active?.stop();
    },
  };
}
