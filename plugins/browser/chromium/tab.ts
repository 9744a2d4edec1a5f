/** One page: what it reported, in bounded buffers, and how it answers dialogs and downloads. */
import { type Clock, unavailable, untilAborted } from "@svc/sdk";
import { cut } from "@svc/sdk/cli";
import { readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { CDPSession, Dialog, Download, FileChooser, Page, Request, Response } from "playwright-core";
import { type FileStore, MAX_BYTES, safeName, type StoredFile, type Upload } from "../files.ts";
import { Recent } from "../recent.ts";

/** Entries of each buffer. */
const MAX_ENTRIES = 500;
const MAX_DOWNLOADS = 50;
/** Responses whose bodies can still be read. */
const MAX_RESPONSES = 50;
const MAX_TEXT = 2_000;
const WATCH_DOWNLOAD_MS = 250;
/** Time in ms for a page or a browser to close. */
export const CLOSE_MS = 5_000;
/** Time in ms after which a page is told a second time to close. */
const CLOSE_AGAIN_MS = 1_000;

/** A line of the page's console. */
export interface ConsoleEntry {
  readonly type: string;
  readonly text: string;
  readonly url: string;
  /** epoch ms */
  readonly at: number;
}

export interface RequestEntry {
  readonly id: number;
  readonly method: string;
  readonly url: string;
  readonly type: string;
  /** Absent until the response arrives. */
  status?: number;
  failure?: string;
  /** epoch ms */
  readonly at: number;
}

/** What became of a download: a file, or the reason why there is none. */
type Received = StoredFile | { readonly error: string };

interface DownloadEntry {
  readonly url: string;
  readonly name: string;
  readonly received: Promise<Received>;
  /** A caller has it. */
  isClaimed: boolean;
}

/** A download that has ended. */
export type EndedDownload = Pick<DownloadEntry, "url" | "name"> & Received;

/** How the next dialog is answered. */
export interface DialogAnswer {
  readonly accept: boolean;
  readonly promptText?: string;
}

export interface DialogEntry {
  readonly type: string;
  readonly message: string;
  readonly accepted: boolean;
}

export interface TabDeps {
  readonly clock: Pick<Clock, "now" | "setTimeout" | "setInterval">;
  readonly files: FileStore;
  /** Directory of downloads while they arrive. */
  readonly incoming: string;
}

export class Tab {
  readonly id: string;
  readonly page: Page;
  /** Session that opened it; absent: an operator. */
  readonly owner: string | undefined;
  readonly console = new Recent<ConsoleEntry>(MAX_ENTRIES);
  readonly errors = new Recent<{ readonly message: string; readonly at: number }>(MAX_ENTRIES);
  readonly requests = new Recent<RequestEntry>(MAX_ENTRIES);
  readonly responses = new Recent<Response>(MAX_RESPONSES);
  readonly downloads = new Recent<DownloadEntry>(MAX_DOWNLOADS);
  readonly dialogs = new Recent<DialogEntry>(MAX_DOWNLOADS);
  #dialogAnswer: DialogAnswer | undefined;
  #chooser: ((chooser: FileChooser) => void) | undefined;
  #cdp: Promise<CDPSession> | undefined;
  #next = 1;
  hasCrashed = false;
  readonly #deps: TabDeps;

  constructor(id: string, page: Page, owner: string | undefined, deps: TabDeps) {
    this.id = id;
    this.page = page;
    this.owner = owner;
    this.#deps = deps;
    const entries = new WeakMap<Request, RequestEntry>();
    const now = () => deps.clock.now();
    page.on("console", (message) => {
      const { url } = message.location();
      this.console.add({ type: message.type(), text: short(message.text()), url: short(url), at: now() });
    });
    page.on("pageerror", (error) => void this.errors.add({ message: short(error.message), at: now() }));
    page.on("crash", () => {
      this.hasCrashed = true;
      this.errors.add({ message: "the page crashed", at: now() });
    });
    page.on("request", (request) => {
      const [method, url, type] = [request.method(), short(request.url()), request.resourceType()];
      entries.set(request, this.requests.add({ id: this.#next++, method, url, type, at: now() }));
    });
    page.on("response", (response) => {
      this.responses.add(response);
      const entry = entries.get(response.request());
      if (entry) entry.status = response.status();
    });
    page.on("requestfailed", (request) => {
      const entry = entries.get(request);
      if (entry) entry.failure = short(request.failure()?.errorText ?? "failed");
    });
    page.on("dialog", (dialog) => void this.#answer(dialog));
    page.on("download", (download) => {
      const [url, name] = [short(download.url()), safeName(download.suggestedFilename())];
      this.downloads.add({ url, name, received: this.#receive(download, name), isClaimed: false });
    });
  }

  /** @throws GatewayError `UNAVAILABLE` after a crash: the page can do nothing any more */
  requireAlive(): void {
    if (this.hasCrashed)
      unavailable(
        `the page of tab ${this.id} crashed; close the tab (DELETE /tabs/${this.id}) and open the address again`,
      );
  }

  facts(isCurrent: boolean): Record<string, unknown> {
    const { id: targetId, page, hasCrashed } = this;
    return { targetId, url: short(page.url()), active: isCurrent, ...(hasCrashed ? { crashed: true } : {}) };
  }

  /**
   * Closes the page. Chromium loses the request while a new document replaces the old one; a second request helps.
   * @returns whether the page closed within `CLOSE_MS`
   */
  async close(): Promise<boolean> {
    const { clock } = this.#deps;
    const closed = this.page.close().then(
      () => true,
      () => this.page.isClosed(),
    );
    const first = await answerOf(closed, CLOSE_AGAIN_MS, clock);
    if (first !== undefined) return first;
    void this.cdp()
      .then((session) => session.send("Page.close"))
      .catch((error: Error) => this.#note(error)); // also when the page closes before it answers
    return (await answerOf(closed, CLOSE_MS - CLOSE_AGAIN_MS, clock)) ?? false;
  }

  /** The next dialog is answered so; without an answer, dialogs are dismissed. */
  answerNextDialog(answer: DialogAnswer): void {
    this.#dialogAnswer = answer;
  }

  /** The next file chooser of the page receives these files. */
  uploadNext(uploads: readonly Upload[]): void {
    if (this.#chooser) this.page.off("filechooser", this.#chooser);
    this.#chooser = (chooser) => {
      this.#chooser = undefined;
      const given = chooser.isMultiple() ? uploads : uploads.slice(0, 1);
      void chooser.setFiles([...given]).catch((error: Error) => this.#note(error));
    };
    this.page.once("filechooser", this.#chooser);
  }

  cdp(): Promise<CDPSession> {
    this.#cdp ??= this.page.context().newCDPSession(this.page);
    return this.#cdp;
  }

  /**
   * The oldest download after the first `since` that no caller has; waits for one.
   * @throws an error if the signal aborts or the page is closed
   */
  async nextDownload(signal: AbortSignal, since = 0): Promise<EndedDownload> {
    for (;;) {
      const entry = this.downloads.since(since).find(({ isClaimed }) => !isClaimed);
      if (entry === undefined) {
        await this.page.waitForEvent("download", { timeout: 0, signal });
        continue;
      }
      const { url, name, received } = entry;
      const end = await untilAborted(received, signal);
      if (entry.isClaimed) continue; // by a call that waited for the same one
      entry.isClaimed = true;
      return { url, name, ...end };
    }
  }

  async #answer(dialog: Dialog): Promise<void> {
    const isLeaving = dialog.type() === "beforeunload"; // a page cannot keep its tab
    const { accept, promptText }: DialogAnswer = isLeaving
      ? { accept: true }
      : (this.#dialogAnswer ?? { accept: false });
    if (!isLeaving) this.#dialogAnswer = undefined;
    this.dialogs.add({ type: dialog.type(), message: short(dialog.message()), accepted: accept });
    await (accept ? dialog.accept(promptText) : dialog.dismiss()).catch((error: Error) => this.#note(error));
  }

  async #receive(download: Download, name: string): Promise<Received> {
    const { clock, files, incoming } = this.#deps;
    const tooLarge = { error: `the download has more than ${MAX_BYTES} bytes` };
    let isTooLarge = false;
    // The library reports no progress, so the size of the files that arrive is checked until the download ends.
    const stop = clock.setInterval(() => {
      void sizeOf(incoming).then((bytes) => {
        isTooLarge ||= bytes > MAX_BYTES;
        return isTooLarge ? download.cancel() : undefined;
      });
    }, WATCH_DOWNLOAD_MS);
    try {
      const file = await files.adopt(await download.path(), name);
      if (file.bytes <= MAX_BYTES) return file;
      await unlink(file.path);
      return tooLarge;
    } catch {
      if (isTooLarge) return tooLarge;
      return { error: (await download.failure().catch(() => null)) ?? "the download failed" };
    } finally {
      stop();
    }
  }

  #note(error: Error): void {
    this.errors.add({ message: short(error.message), at: this.#deps.clock.now() });
  }
}

/** Bytes of the files in a directory; 0 if it cannot be read. */
async function sizeOf(directory: string): Promise<number> {
  try {
    const sizes = await Promise.all(
      (await readdir(directory)).map(
        async (name) => (await stat(join(directory, name)).catch(() => undefined))?.size ?? 0,
      ),
    );
    return sizes.reduce((sum, size) => sum + size, 0);
  } catch {
    return 0;
  }
}

function short(text: string): string {
  return cut(text, MAX_TEXT);
}

/** What the browser answers; `undefined`: nothing within `ms`. */
export function answerOf<T>(answer: Promise<T>, ms: number, clock: Pick<Clock, "setTimeout">): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimeout(() => resolve(undefined), ms);
    void answer.then(resolve, reject).finally(cancel);
  });
}
