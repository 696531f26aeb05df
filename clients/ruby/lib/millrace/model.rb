# frozen_string_literal: true

module Millrace
  # Stands for a secret wherever something is printed.
  MASK = "[redacted]"
  private_constant :MASK

  # A record as the service sent it. It is frozen.
  #
  # Known fields are methods, and nil when the service left them out. Every field that was sent, also one that this
  # version does not know, can be read by its name: `record[:new_field]`.
  class Model
    @types = {}.freeze
    @models = {}.freeze
    @secrets = [].freeze

    class << self
      # Known fields, with the model of those that have one.
      attr_reader :models
      # Fields that nothing prints.
      attr_reader :secrets

      # The first known field whose type is not that of the document; nil when all are right.
      def wrong_field(fields)
        @types.each_key.find { |name| fields.key?(name) && !fits?(@types[name], fields[name]) }
      end

      private

      # `type` is a class, [T] for a list, { each: T } for a map, or a Set for one of several. nil fits everywhere: nothing
      # was sent.
      def fits?(type, value)
        return true if type.nil? || value.nil?

        case type
        when Array then value.is_a?(Array) && value.all? { |item| fits?(type.first, item) }
        when Hash then value.is_a?(Hash) && value.values.all? { |item| fits?(type[:each], item) }
        when Set then type.any? { |one| fits?(one, value) }
        when :boolean then [true, false].include?(value)
        else type < Model ? value.is_a?(Hash) && type.wrong_field(value).nil? : value.is_a?(type)
        end
      end

      def model_in(type)
        case type
        when Array then model_in(type.first)
        when Set then type.map { |one| model_in(one) }.compact.first
        when Class then type if type < Model
        end
      end

      def inherited(subclass)
        super
        subclass.instance_variable_set(:@types, @types.dup)
        subclass.instance_variable_set(:@models, models.dup)
        subclass.instance_variable_set(:@secrets, secrets)
      end

      def field(name, type = nil, secret: false)
        raise ArgumentError, "#{self}: every object has a method #{name}" if Model.public_method_defined?(name)

        @types[name] = type
        @models[name] = model_in(type)
        @secrets += [name] if secret
        define_method(name) { self[name] }
      end
    end

    # Fields have symbols as names, at any depth.
    def initialize(fields)
      @fields = fields.frozen? ? fields : fields.dup.freeze
      freeze
    end

    # A field by its name; nil when it was not sent.
    def [](name)
      name = name.to_sym
      model = self.class.models[name]
      model ? nest(model, @fields[name]) : @fields[name]
    end

    # Whether the field was sent.
    def key?(name)
      @fields.key?(name.to_sym)
    end

    # A field of a record within: `person.dig(:company, :name)`.
    def dig(name, *rest)
      value = self[name]
      rest.empty? || value.nil? ? value : value.dig(*rest)
    end

    # The JSON object that was sent.
    def to_h
      @fields.dup
    end

    # The JSON object without secrets.
    def to_json(*options)
      as_json.to_json(*options)
    end

    # The same for Rails, whose JSON encoder asks for it.
    def as_json(*)
      masks = self.class.secrets & @fields.keys
      masks.empty? ? to_h : @fields.merge(masks.to_h { |name| [name, MASK] })
    end

    # For pattern matching: `case person in {name:, company: {domain:}}`.
    def deconstruct_keys(names)
      known = self.class.models
      names ||= @fields.keys | known.keys
      names.select { |name| @fields.key?(name) || known.key?(name) }.to_h { |name| [name, self[name]] }
    end

    def ==(other)
      other.instance_of?(self.class) && other.to_h == @fields
    end
    alias eql? ==

    def hash
      [self.class, @fields].hash
    end

    def inspect
      fields = shown.map { |name, value| " #{name}=#{value.inspect}" }
      "#<#{self.class}#{fields.join(',')}>"
    end
    alias to_s inspect

    # For pp and irb, which break long lines.
    def pretty_print(printer)
      printer.group(1, "#<#{self.class}", ">") do
        printer.seplist(shown, -> { printer.text(",") }) do |name, value|
          printer.breakable
          printer.text("#{name}=")
          printer.pp(value)
        end
      end
    end

    private

    # The fields to print, without those that are nil and without secrets.
    def shown
      sent = @fields.keys.reject { |name| @fields[name].nil? }
      sent.to_h { |name| [name, self.class.secrets.include?(name) ? MASK : self[name]] }
    end

    def nest(model, value)
      case value
      when Hash then model.new(value)
      when Array then value.map { |item| nest(model, item) }.freeze
      else value
      end
    end
  end
end
