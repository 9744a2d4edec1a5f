/** Searches the loaded messages: the browser's own search only sees the rows in sight. */
import { type Row, searchTextOf } from "./messages.ts";

export interface Find {
  readonly isOpen: boolean;
  readonly text: string;
  /** Number of the marked match, from 1, and of all matches. */
  readonly at: number;
  readonly count: number;
  readonly isLoading: boolean;
  /** Key of the marked row. */
  readonly found: string | undefined;
  open(): void;
  close(): void;
  look(text: string): void;
  /** @param by -1: the one before */
  step(by: number): void;
  /** Loads all older messages. */
  loadAll(): void;
  /** The rows changed. */
  again(): void;
}

export interface FindOptions {
  readonly rows: () => readonly Row[];
  readonly show: (index: number) => void;
  readonly changed: () => void;
  /** Loads one more page. @returns whether it came, and there are more */
  readonly older: () => Promise<boolean>;
  readonly opened: () => void;
  readonly closed: () => void;
}

export function createFind({ rows, show, changed, older, opened, closed }: FindOptions): Find {
  let isOpen = false;
  let isLoading = false;
  let text = "";
  let matches: readonly { readonly key: string; readonly index: number }[] = [];
  let marked = -1;
  const lower = new WeakMap<Row, string>();

  const wordsOf = (row: Row) => {
    const known = lower.get(row) ?? searchTextOf(row).toLowerCase();
    lower.set(row, known);
    return known;
  };
  const search = () => {
    const needle = text.trim().toLowerCase();
    matches =
      needle === ""
        ? []
        : rows().flatMap((row, index) => (wordsOf(row).includes(needle) ? [{ key: row.key, index }] : []));
  };
  const mark = (index: number) => {
    marked = index;
    const match = matches[index];
    if (match) show(match.index);
    changed();
  };

  return {
    get isOpen() {
      return isOpen;
    },
    get text() {
      return text;
    },
    get at() {
      return marked + 1;
    },
    get count() {
      return matches.length;
    },
    get isLoading() {
      return isLoading;
    },
    get found() {
      return matches[marked]?.key;
    },
    open() {
      isOpen = true;
      changed();
      opened();
    },
    close() {
      isOpen = false;
      text = "";
      matches = [];
      marked = -1;
      changed();
      closed();
    },
    look(next) {
      text = next;
      search();
      mark(matches.length - 1); // the newest one first
    },
    step(by) {
      if (matches.length > 0) mark((marked + by + matches.length) % matches.length);
    },
    loadAll() {
      if (isLoading) return;
      isLoading = true;
      changed();
      void (async () => {
        let goesOn = true;
        while (goesOn) goesOn = (await older()) && isOpen;
        isLoading = false;
        changed();
      })();
    },
    again() {
      if (!isOpen || text === "") return;
      const key = matches[marked]?.key;
      search();
      const index = matches.findIndex((match) => match.key === key);
      marked = index >= 0 ? index : matches.length - 1;
    },
  };
}
