/** The address of the page: where it is served, which view it shows, and secrets of a link, which leave it at once. */

/** Address below which the panel is served, with a trailing slash. Scripts lie in `<base>assets/`. */
export const BASE = new URL(/* @vite-ignore */ "../", import.meta.url);

/** The gateway that served the page. */
export const OWN_GATEWAY = BASE.origin.replace(/^http/, "ws");

/** A view, and what it shows: `?session=...`. */
export interface Place {
  /** Id of the view. */
  readonly view: string;
  readonly params: URLSearchParams;
}

/** Views whose address differs from their id: plugins answer below `/plugins`. Spec: http/control-panel.md §3. */
const WORDS: Readonly<Record<string, string>> = { plugins: "extensions" };

export function readPlace(defaultView: string): Place {
  const path = location.pathname.startsWith(BASE.pathname) ? location.pathname.slice(BASE.pathname.length) : "";
  const [word = ""] = path.split("/");
  const view = Object.keys(WORDS).find((id) => WORDS[id] === word) ?? word;
  return {
    view: view === "" || view === "index.html" ? defaultView : view,
    params: new URLSearchParams(location.search),
  };
}

/** @param params absent values are left out */
export function hrefOf(view: string, params: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(params).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const query = new URLSearchParams(given).toString();
  return `${BASE.pathname}${WORDS[view] ?? view}${query === "" ? "" : `?${query}`}`;
}

/** What a link carries. */
export interface LinkSecrets {
  /** One-time invitation of `svc dashboard`. */
  readonly invite?: string;
  /** Token or password of the gateway. */
  readonly secret?: string;
  /** WebSocket address of another gateway. Not trusted: people are asked first. */
  readonly gateway?: string;
}

/** Reads the secrets of the link, and removes them from the address and the history before anything else runs. */
export function takeLinkSecrets(): LinkSecrets {
  const query = new URLSearchParams(location.search);
  const hash = new URLSearchParams(location.hash.replace(/^#/, ""));
  const take = (name: string) => {
    const value = hash.get(name) ?? query.get(name);
    hash.delete(name);
    query.delete(name);
    return value === null || value.trim() === "" ? undefined : value.trim();
  };
  const invite = take("invite");
  const token = take("token");
  const password = take("password");
  const gateway = take("gatewayUrl");
  if (invite ?? token ?? password ?? gateway) {
    const rest = query.toString();
    const anchor = hash.toString();
    const clean = `${location.pathname}${rest === "" ? "" : `?${rest}`}${anchor === "" ? "" : `#${anchor}`}`;
    history.replaceState(history.state, "", clean);
  }
  const secret = token ?? password;
  return {
    ...(invite === undefined ? {} : { invite }),
    ...(secret === undefined ? {} : { secret }),
    ...(gateway === undefined ? {} : { gateway }),
  };
}
