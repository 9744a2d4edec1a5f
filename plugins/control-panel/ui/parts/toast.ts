/** Short messages about what just happened. They disappear by themselves, so nothing important is only said here. */
import { html, nothing, render } from "lit";
import { X } from "lucide";
import { t } from "../core/text.ts";
import { detailsOf } from "./failure.ts";
import { icon } from "./icon.ts";
import type { Tone } from "./show.ts";

interface Toast {
  readonly text: string;
  readonly tone: Tone;
  readonly action?: { readonly label: string; readonly run: () => void };
}

const SHOWN_MS = 6_000;
const shown: Toast[] = [];
let place: HTMLElement | undefined;

export function toast(text: string, tone: Tone = "neutral", action?: Toast["action"]): void {
  const entry: Toast = { text, tone, ...(action ? { action } : {}) };
  shown.push(entry);
  if (shown.length > 4) shown.shift();
  draw();
  setTimeout(() => drop(entry), SHOWN_MS);
}

/** Runs `work` of a button, and says what went wrong. @param done said after a success */
export async function attempt(work: () => Promise<unknown>, done?: string): Promise<boolean> {
  try {
    await work();
    if (done !== undefined) toast(done, "good");
    return true;
  } catch (error) {
    const { message, next } = detailsOf(error);
    toast(next === undefined ? message : `${message} ${t.common.next}: ${next}`, "bad");
    return false;
  }
}

/** Removes all messages, e.g. because people are no longer signed in. */
export function dropToasts(): void {
  if (shown.length === 0) return;
  shown.length = 0;
  draw();
}

function drop(entry: Toast): void {
  const index = shown.indexOf(entry);
  if (index < 0) return;
  shown.splice(index, 1);
  draw();
}

function draw(): void {
  if (!place) {
    place = document.createElement("div");
    place.className = "toasts";
    place.setAttribute("role", "status");
    place.setAttribute("aria-live", "polite");
    document.body.append(place);
  }
  const rows = shown.map((entry) => {
    const { text, tone, action } = entry;
    return html`<div class="toast ${tone}">
      <span>${text}</span>
      ${action ? html`<button @click=${() => (action.run(), drop(entry))}>${action.label}</button>` : nothing}
      <button class="plain" aria-label=${t.common.close} @click=${() => drop(entry)}>${icon(X)}</button>
    </div>`;
  });
  render(rows, place);
}
