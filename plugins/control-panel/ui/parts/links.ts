/** Links between views. */
import { BASE } from "../core/address.ts";
import { closeDialogs } from "./dialog.ts";

/** Follows links to views without loading the page again, unless people open them elsewhere. @param arrived called after the address changed */
export function followLinks(arrived: () => void): void {
  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>("a[href]");
    if (!link?.href.startsWith(BASE.href) || link.target !== "" || link.hash !== "") return;
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    closeDialogs(); // the view below is another one
    history.pushState(undefined, "", link.href);
    arrived();
  });
}
