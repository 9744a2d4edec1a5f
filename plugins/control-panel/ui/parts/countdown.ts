/** Time that is left. `<svc-countdown>` draws itself each second, so that the page does not have to. */
import { html, type TemplateResult } from "lit";
import { t } from "../core/text.ts";
import { duration } from "./time.ts";

class SvcCountdown extends HTMLElement {
  #until = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** epoch ms */
  set until(until: number) {
    this.#until = until;
    if (this.isConnected) this.#start();
  }

  connectedCallback(): void {
    this.setAttribute("role", "timer");
    this.#start();
  }

  disconnectedCallback(): void {
    clearInterval(this.#timer);
  }

  #start(): void {
    clearInterval(this.#timer);
    if (this.#draw()) return;
    this.#timer = setInterval(() => {
      if (!this.#draw()) return;
      clearInterval(this.#timer);
      this.dispatchEvent(new Event("ended"));
    }, 1_000);
  }

  /** @returns whether the time is over */
  #draw(): boolean {
    const left = this.#until - Date.now();
    this.textContent = left <= 0 ? t.approvals.over : duration(Math.ceil(left / 1_000) * 1_000);
    return left <= 0;
  }
}

customElements.define("svc-countdown", SvcCountdown);

/** @param until epoch ms. @param ended called once when the time is over */
export function countdown(until: number, ended?: () => void): TemplateResult {
  return html`<svc-countdown .until=${until} @ended=${ended}></svc-countdown>`;
}
