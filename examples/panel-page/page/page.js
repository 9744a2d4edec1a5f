// The bridge (`../../bridge.js`) connects this page to its own plugin. Names are shown as text, never as HTML.
const [form, name, names, problem] = ["form", "name", "names", "problem"].map((id) => document.getElementById(id));

const gateway = await globalThis.svcPanel.connect();

function add(text) {
  const item = document.createElement("li");
  item.textContent = text;
  names.append(item);
}

async function load() {
  const { names: known } = await gateway.call("guestbook.list");
  names.replaceChildren();
  for (const text of known) add(text);
}

gateway.on("guestbook.signed", (entry) => add(entry.name));
gateway.onFresh(load); // events may have been missed
await load();

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  problem.textContent = "";
  try {
    await gateway.call("guestbook.sign", { name: name.value });
    form.reset();
  } catch (error) {
    problem.textContent = `${error.code}: ${error.message}`;
  }
});
form.querySelector("button").disabled = false; // without the listener, a browser would load the page again
