/** Questions in front of the page. A native dialog: the browser keeps the focus inside, and Escape cancels. */
import { html, nothing, render, type TemplateResult } from "lit";
import { t } from "../core/text.ts";
import { drawField, type Field, textOf } from "./form.ts";
import { failed } from "./show.ts";

export interface DialogOptions<T> {
  readonly title: string;
  /** Wide enough for code and tables. Default false. */
  readonly isWide?: boolean;
  /** Draws the content. */
  readonly body: (dialog: Dialog<T>) => TemplateResult;
  /** Run when the dialog opens, e.g. to load what it shows. */
  readonly load?: () => Promise<unknown>;
}

/** What the content of a dialog works with. */
export interface Dialog<T> {
  /** Ends the dialog with a result; without one it is cancelled. */
  close(result?: T): void;
  /** Draws the content again after a change of its own state. */
  redraw(): void;
  /** Does work of a button: `isBusy` meanwhile, `error` after a failure. @returns whether it succeeded */
  run(work: () => Promise<unknown>): Promise<boolean>;
  readonly isBusy: boolean;
  readonly error: unknown;
}

/** Shows a dialog. @returns its result; `undefined`: cancelled */
export function openDialog<T>({ title, isWide = false, body, load }: DialogOptions<T>): Promise<T | undefined> {
  const element = document.createElement("dialog");
  element.className = isWide ? "wide" : "";
  element.setAttribute("aria-label", title);
  document.body.append(element);
  return new Promise((resolve) => {
    let result: T | undefined;
    let isBusy = false;
    let error: unknown;
    const close = (value?: T) => {
      result = value;
      element.close();
    };
    const redraw = () =>
      render(
        html`<header><h2>${title}</h2></header>
          ${body({ close, redraw, run, isBusy, error })}`,
        element,
      );
    const run = async (work: () => Promise<unknown>) => {
      isBusy = true;
      error = undefined;
      try {
        const working = work();
        redraw(); // after what the work changed at once
        await working;
      } catch (failure) {
        error = failure;
      }
      isBusy = false;
      redraw();
      return error === undefined;
    };
    const left = new AbortController();
    addEventListener("popstate", () => element.close(), { signal: left.signal }); // the view below is another one
    element.addEventListener("close", () => {
      left.abort();
      element.remove();
      resolve(result);
    });
    redraw();
    element.showModal();
    if (load) void run(load);
  });
}

/** Cancels all dialogs, e.g. because people are no longer signed in. */
export function closeDialogs(): void {
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
}

export interface Confirmation {
  readonly title: string;
  readonly text?: string | TemplateResult;
  /** Label of the button that confirms: what happens, e.g. `Delete`. */
  readonly action: string;
  /** The action cannot be undone: Enter cancels. Default false. */
  readonly isDangerous?: boolean;
  /** Done before the dialog closes; its failure is shown in the dialog, which stays open. */
  readonly work?: () => Promise<unknown>;
}

/** @returns whether people confirmed, and the work succeeded */
export async function confirm({ title, text, action, isDangerous = false, work }: Confirmation): Promise<boolean> {
  const done = await openDialog<true>({
    title,
    body: ({ close, run, isBusy, error }) => {
      const act = async () => {
        if (await run(async () => work?.())) close(true);
      };
      return html`<div class="content">${text ?? nothing}${error === undefined ? nothing : failed(error)}</div>
        <footer>
          <button ?autofocus=${isDangerous} @click=${() => close()}>${t.common.cancel}</button>
          <button
            class=${isDangerous ? "danger" : "primary"}
            ?autofocus=${!isDangerous}
            ?disabled=${isBusy}
            @click=${act}
          >
            ${action}
          </button>
        </footer>`;
    },
  });
  return done === true;
}

/**
 * Asks for some values.
 * @param options.work done before the dialog closes; its failure is shown in the dialog, which stays open
 * @returns the values by name; `undefined`: cancelled
 */
export async function askFor(options: {
  readonly title: string;
  readonly text?: string | TemplateResult;
  readonly fields: readonly Field[];
  readonly action: string;
  readonly work?: (values: Readonly<Record<string, string>>) => Promise<unknown>;
}): Promise<Readonly<Record<string, string>> | undefined> {
  const { title, text, fields, action, work } = options;
  return openDialog<Readonly<Record<string, string>>>({
    title,
    body: ({ close, run, isBusy, error }) => {
      const submit = async (event: SubmitEvent) => {
        event.preventDefault();
        const data = new FormData(event.target as HTMLFormElement);
        const values = Object.fromEntries(fields.map(({ name }) => [name, textOf(data, name)]));
        if (await run(async () => work?.(values))) close(values);
      };
      return html`<form @submit=${submit}>
        <div class="content">
          ${text ?? nothing} ${fields.map(drawField)} ${error === undefined ? nothing : failed(error)}
        </div>
        <footer>
          <button type="button" @click=${() => close()}>${t.common.cancel}</button>
          <button class="primary" ?disabled=${isBusy}>${action}</button>
        </footer>
      </form>`;
    },
  });
}
