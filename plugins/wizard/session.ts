/** One guided setup in memory: the pending step, the clients that wait for the next one, and its end. Spec: protocol/methods-wizard.md. */
import { randomUUID } from "node:crypto";
import { invalidRequest } from "@svc/sdk";
import type { SetupAnswer, SetupQuestion, WizardStep } from "@svc/sdk/wizard";
import { answerOf } from "./answers.ts";

export type SessionStatus = "running" | "done" | "cancelled" | "error";

/** What clients get. `step` is present exactly while the session runs. */
export interface SessionView {
  readonly done: boolean;
  readonly step?: WizardStep;
  readonly status: SessionStatus;
  readonly error?: string;
}

interface Pending {
  readonly question: SetupQuestion;
  readonly step: WizardStep;
  resolve(answer: SetupAnswer): void;
  reject(reason: unknown): void;
}

/** Asks one question and waits for its answer. */
export type Ask = (question: SetupQuestion, step: WizardStep) => Promise<SetupAnswer>;

export class Session {
  readonly id = randomUUID();
  readonly #ending = new AbortController();
  #status: SessionStatus = "running";
  #error: string | undefined;
  #pending: Pending | undefined;
  /** Called at the next step or the end. */
  readonly #waiting = new Set<() => void>();

  /** Aborts when the session ends. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  get isRunning(): boolean {
    return this.#status === "running";
  }

  /** Runs the setup; its end, or its error, is the end of the session. Call it once. @param errorText for people */
  async run(work: (ask: Ask) => Promise<void>, errorText: (error: unknown) => string): Promise<void> {
    try {
      await work(this.#ask);
      this.end("done");
    } catch (error) {
      this.end("error", errorText(error));
    }
  }

  /** Does nothing after the end. */
  end(status: Exclude<SessionStatus, "running">, error?: string): void {
    if (!this.isRunning) return;
    this.#status = status;
    this.#error = error;
    const reason = new Error("the setup has ended");
    this.#ending.abort(reason);
    this.#pending?.reject(reason);
    this.#pending = undefined;
    this.#wake();
  }

  /** @throws GatewayError `INVALID_REQUEST`: the session does not run, this is not the pending step, or see `answerOf` */
  answer(stepId: string, value: unknown): void {
    if (!this.isRunning) invalidRequest("this setup has ended; start a new one with wizard.start");
    const pending = this.#pending;
    if (!pending || pending.step.id !== stepId)
      return invalidRequest(
        "answer.stepId is not the pending step; call wizard.next without an answer to get the current step",
      );
    const answer = answerOf(pending.question, value);
    this.#pending = undefined;
    pending.resolve(answer);
  }

  /** Waits for the next step or the end. */
  async view(): Promise<SessionView> {
    while (this.isRunning && !this.#pending) await new Promise<void>((wake) => this.#waiting.add(wake));
    return { done: !this.isRunning, ...(this.#pending ? { step: this.#pending.step } : {}), ...this.outcome() };
  }

  outcome(): { readonly status: SessionStatus; readonly error?: string } {
    return { status: this.#status, ...(this.#error === undefined ? {} : { error: this.#error }) };
  }

  readonly #ask: Ask = (question, step) => {
    this.#ending.signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      this.#pending = { question, step, resolve, reject };
      this.#wake();
    });
  };

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
