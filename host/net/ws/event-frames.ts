/** The frames of one event. Receivers that get the same bytes share one. */
import { type EventCursor, type Generation, valueFor } from "@svc/sdk/protocol";
import { encodeEventText } from "./frame-codec.ts";
import type { Emission } from "./shared-events.ts";

/** The place of the event among all events, as far as it has one. */
interface Marks {
  readonly seq: number | undefined;
  /** Only clients that can resume get it. */
  readonly cursor: EventCursor | undefined;
}

interface Form {
  readonly text: string | undefined;
  plain?: Buffer;
  marked?: Buffer;
}

export class EventFrames {
  readonly #emission: Emission;
  readonly #marks: Marks;
  readonly #payload: unknown;
  /** By generation. Those for which the event is the same share one form. */
  readonly #forms = new Map<Generation | undefined, Form>();

  /** @param payload from which the text of the emission was made. Default: it is parsed when a receiver needs another form */
  constructor(emission: Emission, marks: Marks, payload?: unknown) {
    this.#emission = emission;
    this.#marks = marks;
    this.#payload = payload;
  }

  for({ generation, resumes }: { readonly generation: Generation; readonly resumes: boolean }): Buffer {
    const { event, stateVersion } = this.#emission;
    const { seq, cursor } = this.#marks;
    const form = this.#form(generation);
    if (resumes && cursor)
      return (form.marked ??= encodeEventText(event.name, form.text, { seq, stateVersion, cursor }));
    return (form.plain ??= encodeEventText(event.name, form.text, { seq, stateVersion }));
  }

  #form(generation: Generation): Form {
    const { event, text } = this.#emission;
    const isOther = text !== undefined && Object.hasOwn(generation.events, event.name);
    const key = isOther ? generation : undefined;
    const known = this.#forms.get(key);
    if (known) return known;
    const form: Form = { text: isOther ? this.#viewed(generation, text) : text };
    this.#forms.set(key, form);
    return form;
  }

  #viewed({ events }: Generation, text: string): string {
    const payload = this.#payload ?? JSON.parse(text);
    return JSON.stringify(valueFor(events, this.#emission.event.name, payload));
  }
}
