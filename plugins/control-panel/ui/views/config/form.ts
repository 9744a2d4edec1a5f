/** What the fields of the form read and change: the draft, and what people typed that is no value yet. */
import type { Issue, State } from "./state.ts";
import { isObject, type Path, pathText, same, valueAt, withValue } from "./data.ts";
import { dataPath, type Field, type Hints, isInItem, isItem } from "./schema.ts";

export interface Form {
  readonly hints: Hints;
  /** False: the fields only show. */
  readonly mayWrite: boolean;
  /** Hides keys that are not in the file. */
  readonly onlySet: boolean;
  /** Shows keys for experts. */
  readonly advanced: boolean;
  /** In the draft; `undefined`: not set. */
  value(path: Path): unknown;
  /** In the file. */
  original(path: Path): unknown;
  /** What the gateway uses while the key is not set. */
  fallback(field: Field): unknown;
  put(path: Path, value: unknown): void;
  /** Removes the key, and objects that held nothing else. */
  remove(field: Field): void;
  /** Texts of inputs that differ from how their value is written; `isWrong`: they are no value. */
  typed(path: Path): { readonly text: string; readonly isWrong: boolean } | undefined;
  type(path: Path, text: string, isWrong: boolean): void;
  /** Forgets the typed texts at and below a path. */
  typedOut(path: Path): void;
  isOpen(path: Path): boolean;
  toggle(path: Path, open: boolean): void;
  issuesAt(path: Path): readonly Issue[];
}

export interface FormOptions {
  readonly state: State;
  readonly hints: Hints;
  readonly mayWrite: boolean;
  readonly onlySet: boolean;
  readonly advanced: boolean;
  changed(): void;
}

export function createForm({ state, changed, ...rest }: FormOptions): Form {
  const isBelow = (name: string, path: string) =>
    name === path || name.startsWith(`${path}.`) || name.startsWith(`${path}[`);
  const original = (path: Path) => valueAt(state.base?.parsed, path);
  const put = (path: Path, value: unknown) => {
    const name = pathText(path);
    state.draft = withValue(state.draft, path, value);
    state.issues = state.issues.filter((issue) => !isBelow(issue.path, name) && !isBelow(name, issue.path));
    changed();
  };
  const typedOut = (path: Path) => {
    const name = pathText(path);
    for (const key of state.typed.keys()) if (isBelow(key, name)) state.typed.delete(key);
    changed();
  };
  return {
    ...rest,
    value: (path) => valueAt(state.draft, path),
    original,
    fallback(field) {
      const { path, schema } = field;
      return (isInItem(field) ? undefined : valueAt(state.base?.config, path)) ?? schema.default;
    },
    put,
    remove(field) {
      typedOut(field.path);
      put(field.path, undefined);
      for (let at = field.parent; at && at.path.length > 0 && !at.isEntry; at = at.parent) {
        const value = valueAt(state.draft, at.path);
        const isEmpty = isObject(value) && Object.keys(value).length === 0;
        if (!isEmpty || isItem(at) || original(at.path) !== undefined) break;
        put(at.path, undefined);
      }
    },
    typed: (path) => state.typed.get(pathText(path)),
    type(path, text, isWrong) {
      state.typed.set(pathText(path), { text, isWrong });
      changed();
    },
    typedOut,
    isOpen: (path) => state.open.has(pathText(path)),
    toggle(path, open) {
      const name = pathText(path);
      if (state.open.has(name) === open) return;
      if (open) state.open.add(name);
      else state.open.delete(name);
      changed();
    },
    issuesAt(path) {
      const name = pathText(path);
      return state.issues.filter((issue) => issue.path === name);
    },
  };
}

/** Whether people changed the key, or something in it. */
export function isChanged(form: Form, { path }: Field): boolean {
  return !same(form.value(path), form.original(path));
}

/** Id of the control of a field in the document. */
export function idOf(field: Field): string {
  return `cfg-${dataPath(field)}`;
}
