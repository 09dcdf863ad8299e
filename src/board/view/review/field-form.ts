import { Component, type ComponentChild, h, type TargetedEvent } from 'preact';
import type { FieldDefinition } from '../../../queues/queue-fields.ts';
import type { Board } from './review-board.ts';

type Kind = 'boolean' | 'integer' | 'choice' | 'text';

const kinds = new Map<Kind, string>([
  ['boolean', 'Yes or no'],
  ['integer', '1 to 5'],
  ['choice', 'One of several choices'],
  ['text', 'Text'],
]);

interface FormState {
  name: string;
  kind: Kind;
  choices: string;
}

/** Asks what a person wants to judge in a queue without fields, and makes the field. */
export class FieldForm extends Component<{ board: Board }, FormState> {
  override state: FormState = { name: '', kind: 'boolean', choices: '' };

  override render({ board }: { board: Board }, { name, kind, choices }: FormState): ComponentChild {
    const submit = (event: Event): void => {
      event.preventDefault();
      const field = fieldOf(this.state);
      if (typeof field === 'string') board.announce(field);
      else void board.addField(field);
    };
    const text = (label: string, value: string, change: (text: string) => FormState): ComponentChild =>
      h('label', {}, `${label} `, [
        h('input', {
          value,
          maxLength: 1000,
          onInput: ({ currentTarget }: TargetedEvent<HTMLInputElement>) => this.setState(change(currentTarget.value)),
        }),
      ]);
    const select = h(
      'select',
      {
        value: kind,
        onChange: ({ currentTarget }: TargetedEvent<HTMLSelectElement>) =>
          this.setState({ kind: currentTarget.value as Kind }),
      },
      [...kinds].map(([value, label]) => h('option', { value }, label)),
    );
    return h(
      'form',
      { class: 'field-form', onSubmit: submit },
      h('h2', {}, 'What do you want to judge?'),
      h(
        'div',
        { class: 'line' },
        text('Name', name, (value) => ({ ...this.state, name: value })),
        h('label', {}, 'Answer ', select),
        kind === 'choice' && text('Choices, with commas', choices, (value) => ({ ...this.state, choices: value })),
        h('button', { class: 'primary' }, 'Begin'),
      ),
    );
  }
}

/** Returns the field that a person has described, or a sentence that says what is missing. */
function fieldOf({ name, kind, choices }: FormState): FieldDefinition | string {
  // Names of fields have no spaces.
  const field = name.trim().replaceAll(' ', '_');
  if (field === '') return 'Give what you judge a name, such as helpful.';
  if (!/^[\p{L}\p{N}_.-]{1,128}$/u.test(field)) return 'A name has letters, digits, dots, dashes or underscores.';
  if (kind === 'integer') return { name: field, type: kind, min: 1, max: 5 };
  if (kind !== 'choice') return { name: field, type: kind };
  const values = [...new Set(choices.split(',').map((choice) => choice.trim()))].filter((choice) => choice !== '');
  return values.length < 2
    ? 'Write at least two choices, with commas between them.'
    : { name: field, type: kind, choices: values };
}
