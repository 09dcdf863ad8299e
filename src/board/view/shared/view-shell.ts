import { connectToBoardServer } from './browser-host.ts';
import { connectToChat } from './chat-host.ts';
import { button, element, setAttribute, setText } from './element.ts';
import { type Arguments, dataOf, type Host, type ToolResult } from './host.ts';
import { problemOfFailure } from './problem.ts';
import { applyTheme, Formats } from './theme.ts';

/** Time after which a person should learn that the chat has not answered a call, in milliseconds. */
const patienceMs = 5000;

interface ShellOptions {
  /** The command that shows the same in a terminal or a browser, for people whose chat does not answer. */
  command: string;
  /** The list that is marked as busy while it is loaded. */
  list: HTMLElement;
  /** Shows what the arguments name. A page that is mounted again gets an old result, so it must ask for a new one. */
  open: (args: Arguments) => void;
  /** Shows the result that the chat has. */
  receive: (result: ToolResult) => void;
  /** Loads again what failed to load. */
  retry: () => void;
}

/** The parts that every View has: its connection, the line that says what happens, and a button to try again. */
export class ViewShell {
  readonly host: Host;
  formats = new Formats();
  /** The arguments of the tool call that is shown. */
  arguments: Arguments | undefined;
  readonly #live = element('p', { class: 'live', role: 'status' }, 'Connecting …');
  readonly #retry: HTMLButtonElement;
  /** The live line and the button to try again. */
  readonly status: HTMLElement;
  readonly #list: HTMLElement;

  constructor({ command, list, open, receive, retry }: ShellOptions) {
    this.#list = list;
    this.#retry = button('Try again', retry, { hidden: true });
    this.status = element('div', { class: 'status' }, this.#live, this.#retry);
    const connect = window.parent === window ? connectToBoardServer : connectToChat;
    this.host = connect({
      input: (args) => {
        this.arguments = args;
        open(args);
      },
      result: (result) => {
        try {
          receive(result);
          this.#setBusy(false);
        } catch (error) {
          this.failWith(error);
        }
      },
      cancelled: () => this.fail('The call was cancelled.'),
      context: (context) => {
        applyTheme(context);
        this.formats = new Formats(context);
      },
      silent: () =>
        this.announce(
          `The chat does not answer. This page will open as soon as it does; or run ${command} in a terminal.`,
        ),
      failed: (sentence) => this.fail(sentence),
    });
  }

  /** Says what happened, to people who see the page and people who hear it. */
  announce(text: string): void {
    setText(this.#live, text);
  }

  /** Says why the page could not be loaded. */
  fail(sentence: string): void {
    this.announce(sentence);
    this.#retry.hidden = this.arguments === undefined;
    this.#setBusy(false);
  }

  /** Says why a call failed. */
  failWith(error: unknown): void {
    const { sentence, detail } = problemOfFailure(error);
    this.fail(detail === undefined ? sentence : `${sentence} ${detail}`);
  }

  /** Calls a tool, and says so when the host takes long: it may be asking the person. */
  async call<Data>(name: string, args: Arguments): Promise<Data> {
    const timer = setTimeout(() => {
      this.announce(
        this.host.isChat ? 'Waiting for the chat. It may be asking you to allow this.' : 'Waiting for the service …',
      );
    }, patienceMs);
    try {
      return dataOf<Data>(await this.host.callTool(name, args));
    } finally {
      clearTimeout(timer);
    }
  }

  /** Loads the list: marks it as busy meanwhile, and lets the person try again if it fails. */
  async load(work: () => Promise<void>): Promise<void> {
    this.#retry.hidden = true;
    this.#setBusy(true);
    try {
      await work();
      this.#retry.hidden = true;
      this.#setBusy(false);
    } catch (error) {
      this.failWith(error);
    }
  }

  #setBusy(isBusy: boolean): void {
    setAttribute(this.#list, 'aria-busy', String(isBusy));
  }
}
